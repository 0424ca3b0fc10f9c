"""The scenarios that come along and ask about brokers that go: one, one by one, a rack of them."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from isr_stories import as_written, members, retold
from scenario_runs import rows_of, run_of, shipped
from tidegauge.replication.errors import NOT_ENOUGH_REPLICAS
from tidegauge.scenario.cluster_plan import ClusterPlan
from tidegauge.scenario.model.process_faults import PowerLossFault, RollingRestartFault
from tidegauge.simulation.trace_rows.codes import STOP_POWER
from tidegauge.traces.run_folder import RunFolder, TraceRow


def first(run: RunFolder, kind: str, since_s: float, **columns: int) -> float:
    """When the first row of a kind was written from then on, in seconds."""
    rows = rows_of(run, kind, **columns)
    return next(row["time_us"] for row in rows if row["time_us"] >= since_s * 1e6) / 1e6


# failover-budget: account for every second.


class Budget(NamedTuple):
    """A failover's seconds, one after the other: they add up to the whole of it."""

    #: ZooKeeper does not know that the broker is gone.
    detection_s: float
    #: No controller is there to be told, or it does not look yet.
    queue_s: float
    #: The controller chooses, and writes the first new leader's state.
    election_s: float
    #: A LeaderAndIsr is on its way.
    telling_s: float
    #: The new leader waits for a producer that knows it.
    first_append_s: float

    @property
    def whole_s(self) -> float:
        return sum(self)


def budget_of(run: RunFolder, began_s: float = 30) -> Budget:
    dead = run.manifest["brokers"].index(2)
    moments = [
        began_s,
        first(run, "session_expired", began_s, broker=dead),
        first(run, "controller_event", first(run, "session_expired", began_s, broker=dead)),
        first(run, "leader_elected", began_s),
        first(run, "became_leader", began_s),
        next(
            row["time_us"] / 1e6
            for row in rows_of(run, "appended", leads=1)
            if row["epoch"] > 0 and row["time_us"] >= began_s * 1e6
        ),
    ]
    return Budget(*(after - before for before, after in pairwise(moments)))


#: The same with a tenth of the partitions: all requests are traced.
FEW: dict[str, Any] = {
    "topics": [as_written("failover-budget")["topics"][0] | {"partitions": 200}],
    "trace": "all",
}


def test_nearly_all_of_a_failover_is_the_session(tmp_path: Path) -> None:
    run = run_of(retold("failover-budget", **FEW), tmp_path / "run")
    budget = budget_of(run)
    # 18 s after the last ping (a third of it before the death at most), on a tick of 2 s.
    assert 12 <= budget.detection_s <= 20
    assert budget.queue_s < 0.01
    # 35 ms of the controller's own and a round of ZooKeeper's answers.
    assert 0.03 < budget.election_s < 0.2
    assert budget.telling_s < 0.1
    assert budget.first_append_s < 0.5
    assert budget.detection_s / budget.whole_s > 0.95


def test_the_session_timeout_is_what_to_turn(tmp_path: Path) -> None:
    """KIP-537 made it 18 s; with the 6 s from before, two thirds of the failover are gone."""
    run = run_of(
        retold("failover-budget", {"zookeeper.session.timeout.ms": 6000}, **FEW), tmp_path / "run"
    )
    assert 4 <= budget_of(run).detection_s <= 8


def test_a_controller_that_dies_with_the_leader_adds_its_own_failover(tmp_path: Path) -> None:
    (crash,) = as_written("failover-budget")["faults"]
    both = [crash | {"brokers": [2, 6]}]
    alone = budget_of(run_of(retold("failover-budget", **FEW), tmp_path / "alone"))
    run = run_of(retold("failover-budget", faults=both, **FEW), tmp_path / "both")
    elected = rows_of(run, "controller_elected")
    assert len(elected) == 2
    assert elected[1]["time_us"] > 40e6
    budget = budget_of(run)
    # It reads all there is before it elects anybody: KafkaController.onControllerFailover.
    assert budget.queue_s + budget.election_s > alone.queue_s + alone.election_s


def test_thousands_of_partitions_get_their_leaders_one_after_the_other(tmp_path: Path) -> None:
    run = run_of(retold("failover-budget"), tmp_path / "run")
    elected = [row for row in rows_of(run, "leader_elected") if 30e6 < row["time_us"] < 90e6]
    # Of 2,000 partitions on six brokers.
    assert len(elected) in {333, 334}
    led = [row["time_us"] for row in rows_of(run, "became_leader")]
    led = [time_us for time_us in led if 30e6 < time_us < 90e6]
    assert 0.1 < (max(led) - min(led)) / 1e6 < 5
    assert run.summary is not None
    assert run.summary["records_failed"] == 0
    assert run.summary["unclean_elections"] == 0


# rolling-restart: does it ever land on min ISR?


def least_isr(run: RunFolder) -> dict[int, int]:
    """How many times an ISR came to have so many members, once the cluster was up."""
    kinds = {"leader_elected", "removed_from_isr", "isr_shrunk", "isr_expanded"}
    sizes: dict[int, int] = {}
    for row in run.all_rows(wanted=lambda kind: kind.name in kinds):
        if row["time_us"] > 25e6:
            size = len(members(run, row))
            sizes[size] = sizes.get(size, 0) + 1
    return sizes


def test_a_patient_roll_lands_on_min_isr_and_never_below(tmp_path: Path) -> None:
    """RF 3 and min.insync.replicas 2 leave no margin: one more failure, and writes are refused."""
    run = run_of(shipped("rolling-restart"), tmp_path / "run")
    assert set(least_isr(run)) == {2, 3}
    assert not rows_of(run, "request_refused", error=int(NOT_ENOUGH_REPLICAS))
    assert run.summary is not None
    assert run.summary["records_failed"] == 0
    assert run.summary["records_acknowledged"] == run.summary["records_sent"]


def test_each_broker_is_back_everywhere_before_the_next_one_goes(tmp_path: Path) -> None:
    run = run_of(shipped("rolling-restart"), tmp_path / "run")
    stops = [row["time_us"] for row in rows_of(run, "fault_began") if row["process"] < 6]
    assert len(stops) == 6
    for turn, begins in enumerate(stops):
        ends = [*stops[1:], 300e6][turn]
        expands = [row for row in rows_of(run, "isr_expanded") if begins < row["time_us"] < ends]
        assert [turn in _slots(run, row) for row in expands] == [True] * 150
        # Down for 15 s by plan, and a second or two for the start and the first fetch.
        assert 15 < (expands[-1]["time_us"] - begins) / 1e6 < 20


def _slots(run: RunFolder, row: TraceRow) -> set[int]:
    """The indexes of the brokers that have come into an ISR."""
    new = set(members(run, row)) - set(members(run, row, "old_isr"))
    return {run.manifest["brokers"].index(broker) for broker in new}


def test_a_hurried_roll_refuses_writes(tmp_path: Path) -> None:
    """Two brokers at once, of different racks, share partitions: ISRs of one."""
    (roll,) = as_written("rolling-restart")["faults"]
    run = run_of(retold("rolling-restart", faults=[roll | {"batch": 2}]), tmp_path / "run")
    assert 1 in least_isr(run)
    assert rows_of(run, "request_refused", error=int(NOT_ENOUGH_REPLICAS))


# rack-power-loss and large-cluster: too large to be run here.


def test_a_rack_loses_power_in_the_middle_of_a_roll() -> None:
    story = shipped("rack-power-loss")
    plan = ClusterPlan(story)
    assert (len(plan.brokers), len(plan.partitions), plan.width) == (60, 20_000, 3)
    assert sum(group.batches_per_second for group in story.workload.producers) == 20_000
    assert story.duration_us == 15 * 60_000_000
    roll, power = story.faults
    assert isinstance(roll, RollingRestartFault)
    assert isinstance(power, PowerLossFault)
    assert power.for_us == 10 * 60_000_000
    dark = story.brokers_of(power.brokers)
    assert len(dark) == 20
    # One broker in some seven seconds, so that half of them are done.
    assert (power.at_us or 0) - (roll.at_us or 0) == 210_000_000
    # No partition has two replicas in one rack, so that each keeps two when one rack is dark.
    for partition in plan.partitions:
        assert sum(plan.brokers[broker] in dark for broker in partition.replicas) == 1


def test_a_small_cluster_in_the_same_night_loses_a_rack_and_fails_no_batch(
    tmp_path: Path,
) -> None:
    """The same night on 12 brokers: a third of the leaders move, and acks=all loses nothing."""
    written = as_written("rack-power-loss")
    (topic,) = written["topics"]
    (shop,) = written["workload"]["producers"]
    roll, power = written["faults"]
    story = shipped(
        "rack-power-loss",
        {
            "duration": "150s",
            "cluster": {"brokers": 12, "racks": ["a", "b", "c"]},
            "topics": [topic | {"partitions": 300}],
            "workload": {"producers": [shop | {"batches_per_second": 100, "clients": 2}]},
            "faults": [roll, power | {"at": "60s", "for": "40s"}],
        },
    )
    run = run_of(story, tmp_path / "run")
    assert run.summary is not None
    assert run.summary["records_failed"] == 0
    assert run.summary["unclean_elections"] == 0
    assert 0 not in least_isr(run)
    went = [row for row in rows_of(run, "broker_stopped") if row["time_us"] >= 60e6]
    assert len([row for row in went if row["stop"] == STOP_POWER]) == 4


def test_the_yardstick_is_a_large_and_healthy_cluster() -> None:
    story = shipped("large-cluster")
    plan = ClusterPlan(story)
    assert (len(plan.brokers), len(plan.partitions), plan.width) == (30, 10_000, 3)
    assert sum(group.batches_per_second for group in story.workload.producers) == 20_000
    assert story.faults == ()
