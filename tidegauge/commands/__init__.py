"""The commands of ``tidegauge``, one module each; ``tidegauge.command_line`` lists them.

Those that read measurements of a real cluster are in ``real_cluster_commands``.

A command parses its options (``options``), calls what does the work (runs: ``performing``), and
prints through ``views``.
**To add a command**: its module here, and a line in ``command_line.py``.
"""
