"""The option ``--scenario`` of ``tidegauge read-logs``: the scenario that would leave such logs."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tidegauge.views.output import fail

if TYPE_CHECKING:
    from tidegauge.real_cluster.incident.proposal import Proposal
    from tidegauge.traces.run_folder import RunFolder

#: Names of files that say the settings of a node.
_PROPERTIES = ("server.properties", "controller.properties", "broker.properties")


def propose_scenario(
    run: RunFolder, folder: Path, properties: Sequence[Path], file: Path
) -> Proposal:
    """Write the scenario that would leave these logs; the command ends if there is none.

    Args:
        run: the run that was made from the logs.
        folder: the folder of the logs.
        properties: files of settings; without one those in the folder, and beside it in config.
        file: the file to write.
    """
    from tidegauge.real_cluster.describe.input_file import InputError
    from tidegauge.real_cluster.describe.server_properties import properties_files
    from tidegauge.real_cluster.incident.log_sightings import log_sightings
    from tidegauge.real_cluster.incident.proposal_text import write_proposal
    from tidegauge.real_cluster.logs.log_files import LogsError

    try:
        files = properties_files(properties) if properties else list(_properties_in(folder))
        sightings = log_sightings(folder, run.manifest["logs"])
        sightings.write(run.path)
        return write_proposal(run, files, file, sightings=sightings)
    except (InputError, LogsError) as error:
        fail(str(error))
    except OSError as error:
        fail(f"{error.filename or file}: cannot be written: {error.strerror}")


def check_proposal(file: Path | None, properties: Sequence[Path]) -> None:
    """Fail if the file of a proposed scenario is not a new one, or options need one."""
    if file is None and properties:
        fail("--properties: has no effect without --scenario FILE")
    if file is not None and file.exists():
        fail(f"{file}: exists; name a file that does not")


def proposal_report(proposal: Proposal, run: Path, file: Path) -> Iterator[str]:
    """The lines of a proposal for a terminal, with the next commands."""
    from tidegauge.real_cluster.incident.proposal_text import proposal_lines

    yield ""
    yield f"Scenario: {file}"
    yield from proposal_lines(proposal)
    again = Path("runs") / f"{file.stem}-again"
    yield f"Next: tidegauge run {shlex.quote(str(file))} --out {shlex.quote(str(again))}"
    yield f"      tidegauge compare {shlex.quote(str(run))} {shlex.quote(str(again))}"


def proposal_content(proposal: Proposal, file: Path) -> dict[str, object]:
    """The proposal as JSON."""
    return {
        "file": str(file),
        "earlier_us": proposal.earlier_us,
        "scenario": proposal.data,
        "notices": [notice._asdict() for notice in proposal.notices],
    }


def _properties_in(folder: Path) -> Iterator[Path]:
    for name in _PROPERTIES:
        yield from sorted(folder.rglob(name))
