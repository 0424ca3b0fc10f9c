"""Scenario files that come along; ``tidegauge run NAME`` finds them by their names.

A file is found once it lies here or in a folder below. ``mechanisms`` has one story for each
mechanism of replication, and a test that tells it.
"""
