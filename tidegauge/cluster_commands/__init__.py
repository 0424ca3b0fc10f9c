"""Commands that take what a real cluster leaves: ``read_logs.py``, its logs."""
