"""The storage of a broker: log directories, checkpoints, logs, flushes, offsets of groups.

``log_dirs.py`` says which log lies where, ``logs.py`` cuts and records logs, ``checkpoints.py`` and
``write_back.py`` what a start finds on disk. ``log_directory.py`` writes checkpoints as real files.
"""
