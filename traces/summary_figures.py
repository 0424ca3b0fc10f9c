"""Name, unit and meaning of each figure of a run: the table of figures (``figures.yaml``).

``tidegauge sweep --figures`` lists them, ``--figure`` selects them, and the documentation of the
result tables of figures is made from them. ``checks/figures.py`` (from canonical rows) and
``engine/summary.py`` count those of the summary; ``analysis/tables`` has the SQL of those that a
result table has; ``tidegauge/runs/quorum_margin.py`` counts those of a quorum.

A figure in a part of the summary has dots in its name: ``controller_queue_ms.p99``. A name in
capitals is a placeholder for a name of the scenario: in ``produce_ms.GROUP.p99`` a group of
producers.

Figures cover the run itself, from ``figures_from_seconds`` to ``virtual_seconds``: start-up does
not count, and the liveness phase has its own part. Only losses are judged at the end of that phase.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import yaml

#: The direction in which a figure gets worse.
MOST = "most"
LEAST = "least"


class Figure(NamedTuple):
    """A figure, or all figures of one form."""

    name: str
    #: ``s``, ``ms`` or ``us``, of virtual time unless the meaning has another one; the counted
    #: objects, as a plural; empty for a figure without a unit.
    unit: str
    meaning: str
    #: As tables for people call it; empty: its name does.
    label: str = ""
    #: For runs: the worst one has the most of it, or the least.
    worst_is: str = MOST
    #: The summary has only figures of this form that are not 0.
    left_out_at_zero: bool = False
    #: The part of a scenario that the figure needs: ``racks``, ``liveness``, ``quorum``; empty:
    #: anything.
    only_with: str = ""
    #: Whether a difference between two runs is a cost; not of a moment, an id, or the simulator's
    #: own time.
    is_amount: bool = True


def _table() -> dict[str, dict[str, dict[str, Any]]]:
    text = Path(__file__).with_name("figures.yaml").read_text(encoding="utf-8")
    # The one that is built on libyaml is faster, but not in every build of PyYAML.
    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    found: dict[str, dict[str, dict[str, Any]]] = yaml.load(text, loader)  # noqa: S506 - both are safe
    return found


def _figures(section: Mapping[str, Mapping[str, Any]]) -> tuple[Figure, ...]:
    return tuple(Figure(name, **{"unit": "", **said}) for name, said in section.items())


_TABLE = _table()
#: All forms of the summary, the most important ones first.
FORMS = _figures(_TABLE["summary"])
#: The figures of the summary without a placeholder in their names.
FIGURES = {form.name: form for form in FORMS if form.name == form.name.lower()}
#: The figures that only the result table ``control_plane_figures`` has.
CONTROL_PLANE_FIGURES = {each.name: each for each in _figures(_TABLE["control_plane"])}
#: The mechanism behind a figure, by its name: in the order in which comparisons show them.
DECIDES: Mapping[str, Mapping[str, str]] = _TABLE["decides"]

#: Kinds of processes among which the time of the event loop is shared out, and the rest of it.
PROCESS_KINDS = ("broker", "controller", "zookeeper", "client", "driver")
#: The same of a cluster with KRaft.
KRAFT_PROCESS_KINDS = ("broker", "client", "quorum controller", "driver")


def is_left_out_at_zero(name: str) -> bool:
    """Whether a figure is 0 if it is missing in a summary."""
    prefixes = (form.name.partition(".")[0] + "." for form in FORMS if form.left_out_at_zero)
    return name.startswith(tuple(prefixes))


def worst_is(name: str) -> str:
    """The direction in which a figure gets worse; figures without a form get worse upwards."""
    return FIGURES[name].worst_is if name in FIGURES else MOST


def numbers_of(part: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, float]]:
    """The numbers of a summary, or of a part of it: ``produce_ms.shop.p99``."""
    for name, value in part.items():
        if isinstance(value, Mapping):
            yield from numbers_of(value, f"{path}{name}.")
        elif isinstance(value, int | float) and not isinstance(value, bool):
            yield f"{path}{name}", value
