"""The storage of a broker: log directories, checkpoints, logs, flushes, offsets of groups.

``log_dirs.py`` says which log lies where, and writes checkpoints as real files. ``logs.py`` cuts
and records logs, and knows the part of them on disk; ``checkpoints.py`` has the files that a start
finds there.
"""
