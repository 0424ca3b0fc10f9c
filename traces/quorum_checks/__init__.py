"""Checks of a KRaft quorum: one leader for each epoch, one log, nothing committed is lost.

``metadata_logs.py`` has the controllers' logs; every other file is a check, as those of partitions
in ``traces/checks``.
"""
