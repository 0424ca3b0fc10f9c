"""Checks between the parts of a scenario, and against Kafka's rules; each problem names its path.

``coherence.py`` calls all of them, in stages: parts that rely on others are checked only if those
are right. ``drawn_faults.py`` checks rates of faults, and draws faults from them.
"""
