"""The commands that search for failures of replication, and make them small.

``search_options.py`` are options of them, as ``*_options.py`` of the other commands.
``fuzzing.py`` is ``tidegauge fuzz``, ``ablating.py`` ``tidegauge ablations``, ``shrinking.py``
``tidegauge shrink``, ``explaining.py`` ``tidegauge explain``.
"""
