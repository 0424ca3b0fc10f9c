"""The output of ``tidegauge show --faults``: a paragraph with the cost of each fault."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from tidegauge.scenario.text.counted import counted
from tidegauge.views.story_lines import duration_text

if TYPE_CHECKING:
    from rich.console import Console

    from tidegauge.history.fault_costs import Area, FaultCosts, WorkDone
    from tidegauge.history.story import Names
    from tidegauge.traces.run_folder import RunFolder

#: More faults than these are not printed one by one.
_TOLD = 20
#: The number of sessions and errors that are named.
_NAMED = 4
_WIDTH = 21


def show_faults(out: Console, run: RunFolder, names: Names) -> None:
    """Print the cost of each fault of a run."""
    from tidegauge.history.fault_costs import fault_costs

    costs = fault_costs(run)
    if not costs:
        out.print("No fault began.")
    for each in costs[:_TOLD]:
        out.print(_heading(each, names), style="bold", soft_wrap=True)
        for label, words in _lines(each, names):
            out.print(f"  {label:{_WIDTH}}  {words}", soft_wrap=True)
        out.print()
    if len(costs) > _TOLD:
        out.print(f"... and {len(costs) - _TOLD} more")


def faults_for_programs(run: RunFolder, names: Names) -> list[dict[str, Any]]:
    """The costs of all faults for programs; times are virtual microseconds, brokers are ids."""
    from tidegauge.history.fault_costs import fault_costs

    return [
        {
            "fault": names.fault_name(each.span.fault),
            "kind": names.fault_kind(each.span.fault),
            "begin_us": each.span.begin_us,
            "end_us": each.span.end_us,
            "followed_until_us": each.until_us,
            "sessions_ended": [
                {"broker": names.broker_id(broker), "time_us": time_us}
                for time_us, broker in each.sessions_ended
            ],
            "failover": None if each.failover is None else each.failover._asdict(),
            **{
                name: area._asdict() | {"over_us": None if area.over_us == -1 else area.over_us}
                for name, area in each.areas.items()
            },
            **each.work._asdict(),
        }
        for each in fault_costs(run)
    ]


def _heading(costs: FaultCosts, names: Names) -> str:
    from tidegauge.simulation.durations import time_text

    begin_us, end_us = costs.span.begin_us, costs.span.end_us
    end = "the end" if end_us is None else time_text(end_us)
    return (
        f"{names.fault_short(costs.span.fault)}, from {time_text(begin_us)} to {end}; "
        f"costs until {time_text(costs.until_us)}"
    )


def _lines(costs: FaultCosts, names: Names) -> Iterator[tuple[str, str]]:
    from tidegauge.simulation.durations import time_text

    begin_us = costs.span.begin_us
    if costs.sessions_ended:
        named = [
            f"broker {names.broker_id(broker)} at {time_text(time_us)} "
            f"({duration_text(time_us - begin_us)} after it began)"
            for time_us, broker in costs.sessions_ended[:_NAMED]
        ]
        more = len(costs.sessions_ended) - _NAMED
        yield "sessions ended", ", ".join(named) + (f" and {more} more" if more > 0 else "")
    if costs.failover is not None:
        yield from _failover_lines(costs)
    for label, name in (
        ("offline", "offline"),
        ("under min ISR", "under_min_isr"),
        ("at min ISR", "at_min_isr"),
        ("under-replicated", "under_replicated"),
    ):
        yield label, _area(costs.areas[name], begin_us)
    yield from _work_lines(costs.work)


def _failover_lines(costs: FaultCosts) -> Iterator[tuple[str, str]]:
    from tidegauge.simulation.durations import time_text

    failover = costs.failover
    assert failover is not None
    moments = [costs.span.begin_us, *failover[:4]]
    parts = ("session", "until a controller begins", "controller and ZooKeeper", "LeaderAndIsr")
    spent = [
        f"{part} {duration_text(after - before)}"
        for part, before, after in zip(parts, moments, moments[1:], strict=False)
    ]
    yield (
        "first new leader",
        (
            f"at {time_text(failover.led_us)}, "
            f"{duration_text(failover.led_us - costs.span.begin_us)} after it began = "
            f"{' + '.join(spent)}"
        ),
    )
    yield (
        "last new leader",
        (
            f"at {time_text(failover.last_led_us)}, "
            f"{duration_text(failover.last_led_us - failover.led_us)} after the first"
        ),
    )


def _area(area: Area, begin_us: int) -> str:
    if area.over_us == -1:
        return "never"
    over = "still so at the end"
    if area.over_us is not None:
        over = f"over {duration_text(area.over_us - begin_us)} after it began"
    before = f", {area.before:,} of them before it began" if area.before else ""
    return (
        f"{area.partition_seconds:,.1f} partition-seconds, {area.most_at_once:,} at once{before}; "
        f"{over}"
    )


def _work_lines(work: WorkDone) -> Iterator[tuple[str, str]]:
    yield "leaders elected", f"{work.leaders_elected:,}, {work.unclean_elections} of them uncleanly"
    yield (
        "ISRs",
        (
            f"{work.isr_shrinks:,} shrunk and {work.isr_expands:,} expanded by leaders, "
            f"{work.isr_removals:,} dead replicas taken out by the controller"
        ),
    )
    yield (
        "ZooKeeper",
        (
            f"{work.states_written:,} states written; {work.notifications:,} "
            f"isr_change_notifications about {counted(work.notified_partitions, 'partition')}"
        ),
    )
    requests = "not recorded: run with --trace-level all"
    if work.update_metadata_requests is not None:
        requests = f"{work.update_metadata_requests:,}"
    yield "UpdateMetadata", requests
    yield (
        "controller",
        (
            f"{counted(work.controller_events, 'event')}, "
            f"busy for {duration_text(work.controller_busy_us)}, "
            f"longest wait in its queue {duration_text(work.longest_queued_us)}"
        ),
    )
    refused = work.produce_refused.most_common(_NAMED)
    named = ", ".join(f"{count:,} {error}" for error, count in refused) or "none"
    yield (
        "produce refused",
        f"{named}; producers gave up {counted(work.records_given_up, 'record')}",
    )
