"""The page ``docs/gallery.md``: known bugs of KRaft, with the figures of both releases."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache

from tidegauge.laboratory.gallery.comparison import Compared, Observed, command_of, compared
from tidegauge.laboratory.gallery.incidents import INCIDENTS, Incident, Version
from tidegauge.laboratory.manual.markdown import anchor, code_block, table

_OPENING = """\
# Gallery

This page covers known bugs of KRaft: each is run in a release that has the bug and in one that has
not, by the same schedule. `tidegauge gallery` repeats all runs in some seconds, and its exit status
is 1 if a figure is not as expected; `tidegauge gallery 3` repeats one incident. All times are
virtual. A second version beside a release is the metadata.version of its cluster.

The rules that differ between releases are those of `tidegauge releases`; each has its source.
"""


def documentation() -> str:
    """The page, in Markdown; all incidents are run for it."""
    results = gallery_results()
    return "\n".join([_OPENING, _overview(results), *(_section(each) for each in results)])


@cache
def gallery_results() -> Sequence[Compared]:
    """All incidents, run once in both of their releases."""
    return [compared(each) for each in INCIDENTS]


def _overview(results: Sequence[Compared]) -> str:
    head = ("", "incident", "issue", "affected", "fixed", "figure", "with the bug", "without")
    return table(head, (row for each in results for row in _overview_rows(each)))


def _overview_rows(each: Compared) -> Iterator[Sequence[str]]:
    incident = each.incident
    title = f"[{incident.title}](#{anchor(_heading(incident))})"
    first = (str(incident.number), title, ", ".join(incident.issues))
    about = (*first, incident.affected, incident.fixed)
    for shown, absent in zip(each.affected, each.fixed, strict=True):
        yield (
            *about,
            shown.figure.label,
            _value(incident.shown_in, shown),
            _value(incident.absent_in, absent),
        )
        about = ("", "", "", "", "")


def _value(version: Version, observed: Observed) -> str:
    return f"{observed.text} in {version.release}"


def _heading(incident: Incident) -> str:
    return f"{incident.number} {incident.name}"


def _section(each: Compared) -> str:
    incident = each.incident
    versions = (incident.shown_in, incident.absent_in)
    head = ("figure", *(f"{kind} {version}" for version in versions for kind in _KINDS))
    rows = (
        (
            shown.figure.label,
            *(text for one in (shown, absent) for text in (one.expected_text, _observed(one))),
        )
        for shown, absent in zip(each.affected, each.fixed, strict=True)
    )
    name = incident.scenario
    story = f"[{name}](scenarios-shipped.md#{anchor(name)})"
    return "\n".join(
        [
            f"## {_heading(incident)}\n",
            (
                f"{incident.title}: {', '.join(incident.issues)}. Affected: {incident.affected}. "
                f"Fixed: {incident.fixed}.\n"
            ),
            f"Schedule: {incident.schedule}. The scenario is {story}.\n",
            table(head, rows),
            code_block("\n".join(command_of(incident, version) for version in versions)),
        ]
    )


#: Of the two columns of a version.
_KINDS = ("expected in", "observed in")


def _observed(observed: Observed) -> str:
    return observed.text if observed.is_as_expected else f"**{observed.text}**"
