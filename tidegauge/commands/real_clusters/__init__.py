"""The commands that read measurements of a real cluster, one module each."""
