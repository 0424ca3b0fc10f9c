"""The process of a broker: its start, its end, and the state that survives.

``forgetting.py`` lists the memory that dies with it. ``controlled_shutdown.py`` is a clean stop,
``log_dir_failures.py`` the loss of a log directory, which can end the process. ``retention.py``
deletes old segments.
"""
