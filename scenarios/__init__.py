"""Scenario files of the package; ``tidegauge run NAME`` finds them by their names.

A file is found in this folder or in a folder below. The files in this folder ask questions of
operators, and ``tests/tidegauge/test_shipped_scenarios_*.py`` asserts the answers. ``mechanisms``
has one story for each mechanism of replication, with a test. ``gallery`` has known bugs: run as
``gallery/NAME``, in the releases that the tables of ``tidegauge/laboratory/gallery`` name. Alert
rules are rehearsed on ``incidents``: run as ``incidents/NAME``, with a section ``alerts`` for
the expected alerts.
"""
