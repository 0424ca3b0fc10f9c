"""Numbers in rows mean what the release says that wrote them: the header of a trace names them.

So a trace of a release that numbered a controller's events, requests or errors otherwise is read
as it was meant.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgpack  # type: ignore[import-untyped]  # it comes without types
import pytest

from tidegauge.runs.run import Run
from tidegauge.simulation.trace_rows.codes import BROKER_CHANGE
from tidegauge.simulation.trace_rows.schema import ENUMERATIONS
from tidegauge.traces.trace_file import TraceError
from written_rows import WrittenRows

CONTROLLER = 3


def recorded(folder: Path) -> Path:
    """A run in which a controller takes one event from its queue."""
    rows = WrittenRows()
    kind = int(BROKER_CHANGE)
    rows.write("controller_event", 1_000_000, CONTROLLER, event_kind=kind, queued_us=5)
    return rows.run(folder)


def with_header(folder: Path, **changes: Any) -> Run:
    """The same run, with another header of its trace file."""
    (file,) = (folder / "trace").glob("*.msgpack")
    content = file.read_bytes()
    unpacker = msgpack.Unpacker()
    unpacker.feed(content)
    header = unpacker.unpack() | changes
    frames = content[unpacker.tell() :]
    file.write_bytes(
        msgpack.packb({name: part for name, part in header.items() if part is not None}) + frames
    )
    return Run(folder)


def words(run: Run) -> str:
    (event,) = run.events_of("controller_event")
    return event.words


def test_the_header_names_the_numbers_of_this_release(tmp_path: Path) -> None:
    run = Run(recorded(tmp_path / "run"))
    declared = run.traces[0].header["enumerations"]
    assert [column for each in declared for column in each["columns"]] == list(ENUMERATIONS)
    assert run.enumerations == ENUMERATIONS
    assert "takes event BrokerChange from its queue" in words(run)


def test_a_number_of_another_release_has_the_name_that_its_header_gives(tmp_path: Path) -> None:
    number = str(int(BROKER_CHANGE))
    theirs = [{"columns": ["event_kind"], "names": {number: "RegisterBroker"}}]
    run = with_header(recorded(tmp_path / "run"), enumerations=theirs)
    assert "takes event RegisterBroker from its queue" in words(run)
    (event,) = run.tables.rows("select event from controller_events")
    assert event["event"] == "RegisterBroker"
    # An enumeration that the other release did not have keeps this release's names.
    assert run.enumerations["error"] == ENUMERATIONS["error"]


def test_a_trace_of_an_earlier_release_has_no_names_and_is_read_with_these(tmp_path: Path) -> None:
    run = with_header(recorded(tmp_path / "run"), enumerations=None)
    assert "enumerations" not in run.traces[0].header
    assert "takes event BrokerChange from its queue" in words(run)


@pytest.mark.parametrize(
    "damaged", [[1, 2], {"event_kind": 3}, [{"columns": ["error"], "names": {"x": "y"}}]]
)
def test_a_header_with_damaged_names_is_one_clear_error(tmp_path: Path, damaged: object) -> None:
    run = with_header(recorded(tmp_path / "run"), enumerations=damaged)
    with pytest.raises(TraceError, match="the header is damaged: its enumerations cannot be read"):
        words(run)
