"""``python -m tidegauge``: the same as the command ``tidegauge``."""

from tidegauge.command_line import main

main()
