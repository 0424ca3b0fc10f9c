"""Commands that read what a real cluster tells: descriptions, logs, measurements; one module each.

As in ``commands``: ``tidegauge.command_line`` lists them.
"""
