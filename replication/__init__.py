"""The rules of one replica: pure functions over records, without clock, I/O or Ray."""
