"""The output of ``tidegauge blame``: figures split among faults, and the words about each fault."""

import shlex
from collections.abc import Sequence
from itertools import pairwise

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from tidegauge.runs.fault_costs import FaultCosts, FigureCosts
from tidegauge.traces.run_folder import RunFolder
from tidegauge.views.answers_view import table_width
from tidegauge.views.output import print_hanging

#: The width of a column of labels: a longer one is broken.
_LABEL_WIDTH = 32
