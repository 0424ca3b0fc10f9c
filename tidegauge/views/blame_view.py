"""The output of ``tidegauge blame``: figures split among faults, and the words about each fault."""

#: The width of a column of labels: a longer one is broken.
_LABEL_WIDTH = 32
