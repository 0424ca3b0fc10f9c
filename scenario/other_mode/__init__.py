"""A scenario in another mode or release: the same cluster, workload and faults, as far as it can.

``converted.py`` is the entry. ``settings.py`` is common to all parts: the two modes, and the list
of changes. Settings, selectors, faults and steps have a file each. A field that a mode has and the
other has not needs a line here, beside its error in ``coherence/mode_coherence.py``.
"""
