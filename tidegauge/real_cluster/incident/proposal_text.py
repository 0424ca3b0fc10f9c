"""A proposed scenario as YAML with its evidence on top, and the file that a command writes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path

from tidegauge.real_cluster.describe.server_properties import read_server_properties
from tidegauge.real_cluster.incident.proposal import Proposal, proposed_scenario
from tidegauge.real_cluster.incident.sightings import Sightings
from tidegauge.runs.run import Run
from tidegauge.scenario.text.written_yaml import comment, lines_of
from tidegauge.simulation.durations import short_time_text
from tidegauge.traces.run_folder import write_text_atomically

#: The comment above a part, if the part has its own place.
_ABOUT = {
    "cluster": "",
    "controllers": "",
    "topics": "",
    "workload": "Clients are not told by logs; these only give followers something to fetch.",
    "steps": "The operator's actions, as the states show them.",
    "faults": "The proposed faults; the notices on top have the evidence for each.",
}


def proposal_text(proposal: Proposal) -> str:
    """The whole file."""
    lines = [*_introduction(proposal)]
    for name, part in proposal.data.items():
        if name in _ABOUT:
            lines += ["", *comment(_ABOUT[name])]
        lines += lines_of({name: part})
    return "\n".join(lines) + "\n"


def proposal_lines(proposal: Proposal) -> Iterator[str]:
    """The notices of a proposal for a terminal, by subject."""
    for subject, notices in groupby(proposal.notices, lambda notice: notice.subject):
        yield f"{subject}:"
        for notice in notices:
            yield f"  {notice.text}"


def write_proposal(
    run: Run,
    properties: Sequence[Path],
    file: Path,
    *,
    sightings: Sightings | None = None,
) -> Proposal:
    """Propose the scenario of a run, and write it into a file; its name is that of the file.

    Args:
        run: the run, such as one that was made from logs.
        properties: the ``server.properties`` of brokers and controllers.
        file: the file to write, or to overwrite.
        sightings: what processes tell of each other in their logs.

    Raises:
        InputError: a file of properties cannot be used, or the states make no scenario.
        TraceError: a trace file is damaged.
        OSError: the file cannot be written.
    """
    read = [read_server_properties(each) for each in properties]
    proposal = proposed_scenario(run, read, name=file.stem, sightings=sightings)
    file.parent.mkdir(parents=True, exist_ok=True)
    write_text_atomically(file, proposal_text(proposal))
    return proposal


def _introduction(proposal: Proposal) -> Iterator[str]:
    yield from comment(f"Proposed by `tidegauge read-logs --scenario` from {proposal.source}.")
    earlier = short_time_text(abs(proposal.earlier_us))
    if proposal.earlier_us:
        way = "earlier" if proposal.earlier_us > 0 else "later"
        yield from comment(f"Times here are {earlier} {way} than those of that run.")
    if proposal.notices:
        yield "#"
        yield "# Notices:"
    for notice in proposal.notices:
        yield from comment(f"- {notice.subject}: {notice.text}", "  ")
