"""Commands that read measurements of a real cluster, one module each.

As in ``commands``: ``tidegauge.command_line`` lists them.
"""
