"""Checks of a KRaft quorum: one leader for each epoch, one log, nothing committed is lost.

``metadata_logs.py`` is what is remembered of the controllers; every other file is a check, as those
of partitions in ``traces/checks``.
"""
