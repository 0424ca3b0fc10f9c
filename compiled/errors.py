"""The base of all errors that users read: a mistake in their input, with its remedy.

It lies here because every room can import from here. The command line prints such an error in one
line and exits with status 2 (``tidegauge/command_line.py``); programs catch it as
``tidegauge.TidegaugeError``. A mistake in Tidegauge itself is an ``AssertionError``.
"""


class TidegaugeError(ValueError):
    """A request that cannot be fulfilled; the text names the input and the remedy."""
