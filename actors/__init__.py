"""A broker. So far: the log directory in which it keeps its checkpoint files."""
