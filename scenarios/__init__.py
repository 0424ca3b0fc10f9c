"""Scenario files that come along; ``tidegauge run NAME`` finds them by their names.

A file is found once it lies here or in a folder below. Those here ask what operators ask, and
``tests/tidegauge/test_shipped_scenarios_*.py`` asserts what the answer is. ``mechanisms`` has one
story for each mechanism of replication, and a test that tells it. ``incidents`` are what alert
rules are rehearsed on: run as ``incidents/NAME``, with a section ``alerts`` that says what they
expect.
"""
