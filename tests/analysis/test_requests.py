"""What there is not is told in one line, before anything is read."""

from __future__ import annotations

import pytest

from tidegauge.analysis.requests import RequestError, TraceRequest, request_of
from tidegauge.simulation.trace_rows.schema import ROW_KINDS
from tidegauge.traces.trace_file import ROW_COLUMNS


def test_one_kind_has_its_own_columns_and_several_have_what_all_have() -> None:
    one = TraceRequest("runs/*", "fault_began")
    assert one.columns == ("run", *ROW_COLUMNS, "fault", "fault_kind")
    assert not one.is_text("kind")
    several = TraceRequest("runs/*", kinds=("fault_began", "isr_shrunk"))
    assert several.columns == ("run", "kind", *ROW_COLUMNS, "partition")
    assert several.is_text("kind")
    several.check_columns(["kind", "isr", "fault"])
    assert len(TraceRequest("runs/*").wanted_kinds) == len(ROW_KINDS)


@pytest.mark.parametrize(
    "request_",
    [
        TraceRequest("runs/*"),
        TraceRequest("runs/*", "isr_shrunk", from_us=0, to_us=5, within_run=True, part_bytes=9),
        TraceRequest(["a", "b, c"], kinds=("exposed", "truncated")),
    ],
)
def test_options_say_all_of_a_request(request_: TraceRequest) -> None:
    again = request_of(request_.options())
    assert again.options() == request_.options()
    assert again.wanted_kinds == request_.wanted_kinds
    assert (again.kind, again.from_us, again.to_us) == (
        *(request_.kind, request_.from_us, request_.to_us),
    )


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({}, "no path of a run is given"),
        ({"kind": "isr_shrink"}, "no kind of rows 'isr_shrink': did you mean 'isr_shrunk'?"),
        ({"kinds": "exposed, zebra"}, "there is no kind of rows 'zebra'"),
        ({"kind": "exposed", "kinds": "exposed"}, "give either kind, for its own columns, or"),
        ({"from_us": "4m"}, "from_us must be whole microseconds, not '4m'"),
        ({"part_bytes": "4M"}, "part_bytes must be whole bytes, not '4M'"),
        ({"within_run": "yes"}, "within_run must be true or false, not 'yes'"),
    ],
)
def test_options_that_make_no_sense(options: dict[str, str], complaint: str) -> None:
    path = {"path": "runs/*"} if options else {}
    with pytest.raises(RequestError) as error:
        request_of({**path, **options})
    assert complaint in str(error.value)
    assert "\n" not in str(error.value)


def test_a_column_that_no_row_can_have() -> None:
    with pytest.raises(RequestError, match=r"rows of kind isr_shrunk have no column 'isr_old'"):
        TraceRequest("runs/*", "isr_shrunk").check_columns(["run", "isr_old"])
    with pytest.raises(RequestError, match=r"no column 'tim_us': did you mean 'time_us'\?"):
        TraceRequest("runs/*").check_columns(["tim_us"])
