"""Checks of a KRaft quorum: one leader for each epoch, one log, nothing committed is lost.

``quorum_rows.py`` takes the rows about controllers; ``metadata_logs.py`` is what is remembered of
them; every other file is a check.
"""
