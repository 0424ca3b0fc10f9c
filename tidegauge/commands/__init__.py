"""The commands of ``tidegauge``, one module each; ``tidegauge.command_line`` lists them."""
