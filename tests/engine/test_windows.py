"""Windows: groups run by themselves as far as others promise, until the driver is wanted."""

from __future__ import annotations

from functools import partial

import pytest

from linked_groups import drop, linked_groups, send_fetch
from small_clusters import BROKER_1, BROKER_2, FIRST_CLIENT, MS, cluster_of
from threads import beside
from tidegauge.engine.exchange.state import AWAITS, ENDED, PACED, REPORTS, STOPPED
from tidegauge.engine.group import Group
from tidegauge.scenario.cluster_plan import ClusterPlan

#: All latencies of the small cluster, and the start of its brokers 1 and 2.
LATENCY_US = 1 * MS
START_US = 500 * MS
END_US = 1_000 * MS

Two = tuple[Group, Group]


@pytest.fixture
def two() -> Two:
    """Broker 1, and all others."""
    plan = ClusterPlan(cluster_of())
    broker, rest = linked_groups(plan, [[BROKER_1], [*range(1, len(plan.processes))]])
    for group in (broker, rest):
        group.begin(END_US)
    return broker, rest


def run_on(group: Group) -> int:
    """Run until something else than the others is wanted."""
    while (why := group.run(drop)) == AWAITS:
        pass
    return why


def test_groups_go_on_until_all_have_come_to_the_end(two: Two) -> None:
    ends = [beside(partial(run_on, group)) for group in two]
    assert [end.result(60) for end in ends] == [ENDED, ENDED]
    assert min(group.windows for group in two) > 5
    assert [group.horizon_us for group in two] == [END_US, END_US]
    assert min(group.reached_us for group in two) == END_US
    assert min(group.kernel_cpu_seconds for group in two) > 0


def test_a_group_runs_for_the_least_latency_beyond_the_promise_of_another(two: Two) -> None:
    """All begins at 0. Broker 1 has nothing to do until it starts, and says so at once."""
    broker, rest = two
    assert broker.run(drop) == AWAITS
    assert broker.horizon_us == LATENCY_US
    assert rest.run(drop) == AWAITS
    assert rest.horizon_us == START_US + LATENCY_US
    assert broker.events == 0, "to be passed over takes no step of its own"
    assert rest.events > 0


def test_what_a_group_sends_draws_its_horizon_nearer(two: Two) -> None:
    """The answer can be here after the way there and back."""
    broker, _ = two
    broker.world.context[0].horizon_us = END_US
    send_fetch(broker.kernel_view, BROKER_1, FIRST_CLIENT, 0, 1)
    assert broker.horizon_us == 2 * LATENCY_US


def test_a_message_counts_for_all_before_it_is_taken() -> None:
    """Broker 2 may answer it to a third group, which knows nothing of it but the time."""
    plan = ClusterPlan(cluster_of())
    others = [process for process in range(len(plan.processes)) if process > BROKER_2]
    broker, second, rest = linked_groups(plan, [[BROKER_1], [BROKER_2], others])
    for group in (second, rest):
        group.begin(END_US)
    assert second.run(drop) == AWAITS
    send_fetch(broker.kernel_view, BROKER_1, BROKER_2, 0, 1)
    broker.begin(END_US)
    for group in (broker, rest):
        assert group.run(drop) == AWAITS
    assert rest.horizon_us == 2 * LATENCY_US
    assert second.run(drop) == AWAITS
    assert rest.run(drop) == AWAITS
    assert rest.horizon_us > 2 * LATENCY_US


def test_real_time_may_hold_a_group_back(two: Two) -> None:
    broker, rest = two
    assert broker.run(drop) == AWAITS
    rest.exchange.state.real_time_us = 0
    assert rest.run(drop) == PACED
    assert rest.events == 0
    rest.exchange.state.real_time_us = 1
    assert rest.run(drop) == PACED
    assert rest.events > 0
    assert rest.world.context[0].time_us == 0


def test_a_report_is_let_in_between_two_runs(two: Two) -> None:
    for group in two:
        group.exchange.state.report_wanted = True
        assert group.run(drop) == REPORTS
        group.exchange.state.report_wanted = False
        assert group.run(drop) != REPORTS


def test_a_group_stops_where_it_is_and_can_go_on(two: Two) -> None:
    broker, rest = two
    rest.run(drop)
    for group in two:
        group.exchange.state.asked_to_stop = True
        assert group.run(drop) == STOPPED
        group.exchange.state.asked_to_stop = False
    end_us = max(group.horizon_us for group in two)
    for group in two:
        group.begin(end_us)
    ends = [beside(partial(run_on, group)) for group in two]
    assert [end.result(60) for end in ends] == [ENDED, ENDED]
    assert [group.horizon_us for group in two] == [end_us, end_us]
    assert broker.world.context[0].time_us <= end_us < END_US
