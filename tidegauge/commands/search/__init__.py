"""The commands that search for failures of replication, and make them small.

``search_options.py`` are options of them, as ``*_options.py`` of the other commands;
``shrinking.py`` is ``tidegauge shrink``.
"""
