"""Each check has a story in which it has to say that it is broken, and by which event.

Some are stories of releases as they were, others switch a rule off that all later releases rest
on; the same story with the rule is the twin in which nothing breaks.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ablation_schedules import FOUR_BROKERS, empty_follower_joins, zombie_keeps_fetching
from fault_schedules import clean_but_far_apart, schedule
from isr_stories import as_written
from small_clusters import cluster_of, producers_of, topic_of
from tidegauge.analysis.making.run_tables import RunTables
from tidegauge.engine.inline_engine import inline
from tidegauge.engine.simulate import simulate
from tidegauge.replication.release_rules import TRUNCATE_TO_HIGH_WATERMARK
from tidegauge.scenario.cluster_plan import ClusterPlan
from tidegauge.scenario.reading import Scenario, scenario_from_mapping
from tidegauge.traces.checks import CHECK_NAMES, CHECKS
from tidegauge.traces.checks.histories import (
    BY_DIVERGING_RESPONSE,
    BY_LAST_KNOWN_LEADER,
    BY_LOSS_OF_POWER,
    BY_UNCLEAN_ELECTION,
    PERMITS,
)
from tidegauge.traces.run_folder import RunFolder, TraceRow

#: KIP-101 and its successors, gone: a follower truncates to its own high watermark.
TO_HIGH_WATERMARK = {"truncation_protocol": int(TRUNCATE_TO_HIGH_WATERMARK)}


def told(name: str, **changes: Any) -> Scenario:
    """A scenario that comes along, with its liveness phase."""
    return scenario_from_mapping(as_written(name) | changes, name)


def checks_of(run: RunFolder) -> dict[str, dict[str, Any]]:
    assert run.summary is not None
    checks: dict[str, dict[str, Any]] = run.summary["checks"]
    return checks


def broken(run: RunFolder) -> set[str]:
    """What nothing permits."""
    return {name for name, found in checks_of(run).items() if found["broken"]}


def permitted(run: RunFolder) -> dict[str, str]:
    """What a setting permits, and which one."""
    checks = checks_of(run).items()
    return {name: found["permitted_by"] for name, found in checks if found["permitted"]}


def first_event(run: RunFolder, check: str) -> TraceRow:
    """The row that broke a check first."""
    place = checks_of(run)[check]["first_event"]
    row = run.row_with_handle(place["handle"])
    assert row is not None
    names = run.directory.process(row["process"]), run.directory.partition(row["partition"])
    assert (row["time_us"], *names) == (place["time_us"], place["process"], place["partition"])
    return row


# Mechanism row 10: truncation to the high watermark loses what was acknowledged.


def test_in_0_10_2_a_clean_election_loses_acknowledged_records(tmp_path: Path) -> None:
    """KIP-101, scenario 1: A, elected from the ISR, lacks two records that were acknowledged."""
    run = simulate(told("10-truncation-to-high-watermark"), tmp_path / "run")
    assert broken(run) == {"strong_isr", "exposed_durable", "acknowledged_records_lost"}
    for check in ("exposed_durable", "acknowledged_records_lost"):
        event = first_event(run, check)
        assert (event.kind, event["process"], event["log_end_offset"]) == ("became_leader", 0, 3)
    # The log on which it begins to lead is what a member of the ISR lacks records in.
    event = first_event(run, "strong_isr")
    assert (event.kind, event["process"], event["end_offset"]) == ("log_end", 0, 3)
    assert run.summary is not None
    assert run.summary["records_acknowledged_lost"] == 2


def test_from_0_11_on_the_same_story_loses_nothing(tmp_path: Path) -> None:
    run = simulate(told("10-truncation-to-high-watermark", release="2.6", checks={}), tmp_path)
    assert broken(run) == set()
    assert permitted(run) == {}


# Mechanism row 11: after a loss of power two logs of one length differ.


def test_after_a_loss_of_power_0_10_2_exposes_two_records_at_one_offset(tmp_path: Path) -> None:
    """KIP-101, scenario 2. Nobody promised that what was not flushed survives: it is permitted."""
    run = simulate(told("11-equal-length-divergence"), tmp_path / "run")
    assert broken(run) == set()
    assert permitted(run) == dict.fromkeys(
        ("strong_isr", "committed_agree", "exposed_durable", "exposed_unique", "liveness"),
        PERMITS[int(BY_LOSS_OF_POWER)],
    )
    (lost,) = run.rows("log_lost")
    assert (lost["process"], lost["end_offset"], lost["old_end_offset"]) == (0, 3, 4)
    # It is back, in the ISR, without a record that the other one had exposed.
    back = first_event(run, "strong_isr")
    assert (back.kind, back["process"], back["log_end_offset"]) == ("checkpoint_read", 0, 3)
    # It exposes a record of its own at offset 3, where another one was read before.
    assert first_event(run, "exposed_unique")["high_watermark"] == 4


# Mechanism row 17: unclean election.


def test_an_unclean_election_is_reported_and_named_as_what_permits_it(tmp_path: Path) -> None:
    """KIP-106: unclean.leader.election.enable gives up what consumers have read."""
    run = simulate(told("17-unclean-election"), tmp_path / "run")
    assert broken(run) == set()
    assert permitted(run) == dict.fromkeys(
        ("strong_isr", "committed_agree", "exposed_durable", "exposed_unique"),
        PERMITS[int(BY_UNCLEAN_ELECTION)],
    )
    elected = first_event(run, "exposed_durable")
    unclean = [row for row in run.rows("leader_elected") if row["unclean"]]
    assert elected.kind == "became_leader"
    assert (elected["partition"], elected["leader_epoch"]) in {
        (row["partition"], row["leader_epoch"]) for row in unclean
    }
    # A loss that a setting permits is counted, and is no break.
    assert run.summary is not None
    lost = run.summary["records_acknowledged_lost"]
    assert lost == run.summary["records_acknowledged_lost_permitted"] > 0
    assert checks_of(run)["acknowledged_records_lost"]["verdict"] is True


def test_the_last_known_leader_needs_no_setting(tmp_path: Path) -> None:
    """KIP-966: the only replica starts uncleanly, out of ISR and ELR, and leads whatever is set."""
    power = {"kind": "power_loss", "brokers": [1], "at": "5s", "for": "10s"}
    scenario = cluster_of(
        mode="kraft",
        release="4.1",
        topics=[topic_of([1])],
        faults=[power],
        workload={"producers": [producers_of(20, "2s", "35s")]},
        duration="40s",
    )
    run = simulate(scenario, tmp_path / "run")
    assert broken(run) == set()
    assert permitted(run)["exposed_durable"] == PERMITS[int(BY_LAST_KNOWN_LEADER)]
    tables = RunTables(run.path, tmp_path / "tables")
    tables.make(("lost",))
    (lost,) = tables.rows("select distinct permitted_by from lost")
    assert lost["permitted_by"] == "election of the last known leader"


# A rule switched off.


#: All that truncation to the high watermark breaks; who leads is none of its business.
OF_RECORDS = sorted(
    {*CHECK_NAMES}
    - {"one_leader_per_epoch"}
    - {check.name for check in CHECKS.values() if check.only_with_kraft}
)


@pytest.fixture(scope="module")
def breaking(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Scenario, RunFolder]]:
    """For each check the first of the schedules in which it is broken."""
    folder = tmp_path_factory.mktemp("breaking")
    found: dict[str, tuple[Scenario, RunFolder]] = {}
    for seed in range(60):
        scenario = clean_but_far_apart(seed, "2.6")
        run = simulate(scenario, folder / str(seed), switches=TO_HIGH_WATERMARK)
        for check in broken(run):
            found.setdefault(check, (scenario, run))
        if found.keys() >= {*OF_RECORDS}:
            break
    return found


@pytest.mark.parametrize("check", OF_RECORDS)
def test_without_leader_epochs_in_truncation_every_promise_about_records_breaks(
    check: str, breaking: dict[str, tuple[Scenario, RunFolder]], tmp_path: Path
) -> None:
    """Protocol 2.6 but for how followers truncate.

    The model of the protocol says the same: Kip320-truncateHW falls everywhere.
    """
    scenario, run = breaking[check]
    assert run.manifest["switches"] == TO_HIGH_WATERMARK
    if check == "liveness":
        assert run.summary is not None
        assert "has another log" in run.summary["liveness"]["reasons"][0]
    else:
        expected = {
            "strong_isr": {"truncated", "became_follower", "log_end", "isr_expanded"},
            "consumer_went_backwards": {"consumer_reset"},
            "log_matching": {"log_end"},
            "exposed_unique": {"exposed", "became_leader"},
            "committed_agree": {"exposed", "became_leader", "log_end"},
        }.get(check, {"became_leader"})
        assert first_event(run, check).kind in expected
    twin = simulate(scenario, tmp_path / "twin")
    assert broken(twin) == set()


def old_leader_writes_late() -> Scenario:
    """An old leader changes the ISR after its successor was elected, and the controller dies.

    The controller cannot reach brokers 1, the leader, and 3, and elects 2 in epoch 2. Broker 1,
    which 2 does not fetch from any more, shrinks the ISR to itself and 3.
    """
    settings = FOUR_BROKERS["settings"] | {"replica.lag.time.max.ms": 4000}
    return cluster_of(
        duration="60s",
        cluster=FOUR_BROKERS | {"settings": settings},
        zookeeper={"tick_ms": 500},
        topics=[{"name": "story", "assignment": {0: [2, 1, 3]}}],
        faults=[
            {"kind": "crash", "brokers": [2], "at": "5s", "for": "10s"},
            {
                "kind": "cut_link",
                "between": [["controller:4"], ["broker:1", "broker:3"]],
                "at": "30s",
                "for": "30s",
            },
            {"kind": "crash", "brokers": [1, 4], "at": "50s", "for": "10s"},
        ],
        steps=[
            {"at": "31s", "do": "preferred_election"},
            {"at": "33s", "do": "produce", "topic": "story", "partition": 0, "acks": 1, "to": 1},
        ],
    )


def test_if_an_isr_is_written_whatever_the_version_two_brokers_lead_in_one_epoch(
    tmp_path: Path,
) -> None:
    """KAFKA-6082: the next controller reads epoch 1, and elects 3 in epoch 2, as 2 was before."""
    scenario = old_leader_writes_late()
    run = simulate(scenario, tmp_path / "run", switches={"isr_version_checked": False})
    assert "one_leader_per_epoch" in broken(run)
    event = first_event(run, "one_leader_per_epoch")
    assert (event.kind, event["process"], event["leader_epoch"]) == ("became_leader", 2, 2)
    others = [row for row in run.rows("became_leader") if row["leader_epoch"] == 2]
    assert {row["process"] for row in others} == {1, 2}


def test_an_isr_is_written_only_over_the_version_that_its_leader_knows(tmp_path: Path) -> None:
    """The twin: ZooKeeper refuses the old leader's write (ReplicationUtils.updateLeaderAndIsr)."""
    run = simulate(old_leader_writes_late(), tmp_path / "run")
    assert [row["process"] for row in run.rows("isr_update_failed")][:1] == [0]
    assert broken(run) == set()


def test_if_a_follower_may_join_below_the_start_of_the_epoch_a_committed_record_is_lost(
    tmp_path: Path,
) -> None:
    """Kip320-expandNoEpochStart: the ISR is broken as 2 joins it, the record lost as 2 leads."""
    switches = {"expand_requires_epoch_start": False}
    run = simulate(empty_follower_joins(), tmp_path / "run", switches=switches)
    assert broken(run) == {"strong_isr", "exposed_durable", "acknowledged_records_lost"}
    joined = first_event(run, "strong_isr")
    assert (joined.kind, joined["process"], joined["member_end_offset"]) == ("isr_expanded", 2, 0)
    for check in ("exposed_durable", "acknowledged_records_lost"):
        elected = first_event(run, check)
        assert (elected.kind, elected["process"]) == ("became_leader", 1)
    twin = simulate(empty_follower_joins(), tmp_path / "twin")
    assert broken(twin) == set()


def test_if_fetches_are_not_fenced_a_zombie_s_log_stays_apart_for_ever(tmp_path: Path) -> None:
    """Kip320-unfencedFetch: records of epochs 1 and 3 in one log that no leader ever had."""
    run = simulate(zombie_keeps_fetching(), tmp_path / "run", switches={"fetch_fenced": False})
    assert broken(run) == {"strong_isr", "committed_agree", "log_matching", "liveness"}
    event = first_event(run, "log_matching")
    assert (event.kind, event["process"], event["epoch"]) == ("log_end", 2, 1)
    assert run.summary is not None
    assert run.summary["liveness"]["reasons"] == [
        "partition story-0: broker 3 has another log: its log ends at 2, as that of its leader 1"
    ]
    twin = simulate(zombie_keeps_fetching(), tmp_path / "twin")
    assert broken(twin) == set()


def test_3_1_takes_records_for_committed_that_it_is_about_to_cut(tmp_path: Path) -> None:
    """KAFKA-14704: the first of the schedules that shows it, and no more once it is mended."""
    by_release = {"committed_agree": PERMITS[int(BY_DIVERGING_RESPONSE)]}
    for seed in range(40):
        story = schedule(seed).resolved() | {"release": "3.1", "protocol": None}
        scenario = scenario_from_mapping(story, f"schedule-{seed}")
        run = simulate(scenario, tmp_path / str(seed))
        assert broken(run) == set()
        if permitted(run) == by_release:
            break
    else:
        raise AssertionError("never seen")
    misled = first_event(run, "committed_agree")
    assert misled.kind == "diverging_high_watermark"
    assert checks_of(run)["committed_agree"]["as_expected"]
    # It cuts below what it has taken for committed.
    (cut,) = [
        row
        for row in run.rows("truncated")
        if (row["time_us"], row["process"], row["partition"])
        == (misled["time_us"], misled["process"], misled["partition"])
    ]
    assert cut["end_offset"] < misled["high_watermark"]
    assert misled["old_high_watermark"] < misled["high_watermark"] <= cut["old_end_offset"]
    switches = {"high_watermark_from_diverging_response": False}
    mended = simulate(scenario, tmp_path / "mended", switches=switches)
    assert (broken(mended), permitted(mended)) == (set(), {})
    assert not list(mended.rows("diverging_high_watermark"))


@pytest.mark.parametrize(
    ("release", "is_permitted"),
    [("2.7.2", False), ("2.8.0", True), ("3.4.0", True), ("3.4.1", False), ("3.5", False)],
)
def test_the_release_permits_it_from_2_8_0_to_3_4_0(
    release: str, is_permitted: bool, tmp_path: Path
) -> None:
    """KAFKA-14704: a rolling restart, the leader of which dies with a record of its own."""
    run = simulate(told("rolling-restart", release=release, protocol=None), tmp_path)
    assert broken(run) == set()
    expected = {"committed_agree": PERMITS[int(BY_DIVERGING_RESPONSE)]} if is_permitted else {}
    assert permitted(run) == expected


def test_what_kafka_14704_does_not_explain_stays_a_break_in_its_releases(tmp_path: Path) -> None:
    """Kip320-unfencedFetch in 3.1: a zombie's log stays apart, no diverging response told it so."""
    scenario = scenario_from_mapping(
        zombie_keeps_fetching().resolved() | {"release": "3.1", "protocol": "2.6"}, "zombie"
    )
    run = simulate(scenario, tmp_path, switches={"fetch_fenced": False})
    assert "committed_agree" in broken(run)
    assert not list(run.rows("diverging_high_watermark"))


def test_a_rule_that_there_is_not_cannot_be_taken_away(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="fetch_fencd"):
        simulate(cluster_of(), tmp_path / "run", switches={"fetch_fencd": False})


# How it is judged.


def test_groups_are_judged_as_one(tmp_path: Path) -> None:
    """All that is found is the same, whoever hosts which process."""
    scenario = clean_but_far_apart(3, "2.6")
    count = len(ClusterPlan(scenario).processes)
    grouping = [list(range(first, count, 3)) for first in range(3)]
    one = simulate(scenario, tmp_path / "one", switches=TO_HIGH_WATERMARK)
    three = simulate(
        scenario, tmp_path / "3", switches=TO_HIGH_WATERMARK, make_engine=inline(grouping)
    )
    assert broken(one)
    assert checks_of(one) == checks_of(three)


def test_of_a_partition_without_a_leader_it_is_unknown_what_is_lost(tmp_path: Path) -> None:
    """Its only replica is down at the end: records are unavailable, and may yet come back."""
    scenario = cluster_of(
        {"zookeeper.session.timeout.ms": 1500},
        zookeeper={"tick_ms": 500},
        topics=[{"name": "story", "assignment": {0: [1]}}],
        steps=[{"at": "2s", "do": "produce", "topic": "story", "partition": 0, "records": 7}],
        faults=[{"kind": "crash", "brokers": [1], "at": "2500ms"}],
    )
    run = simulate(scenario, tmp_path / "run")
    assert run.summary is not None
    assert run.summary["records_acknowledged_unavailable"] == 7
    assert run.summary["records_acknowledged_lost"] == 0
    assert checks_of(run)["acknowledged_records_lost"]["verdict"] == "unknown"
    assert checks_of(run)["acknowledged_records_lost"]["as_expected"]


@pytest.mark.parametrize(("declared", "as_expected"), [({}, False), ({"strong_isr": False}, True)])
def test_what_a_scenario_expects_is_held_against_what_was_found(
    declared: dict[str, bool], as_expected: bool, tmp_path: Path
) -> None:
    run = simulate(told("10-truncation-to-high-watermark", checks=declared), tmp_path / "run")
    assert checks_of(run)["strong_isr"]["as_expected"] == as_expected
    assert checks_of(run)["strong_isr"]["expected"] == (not declared)


def test_where_a_setting_permits_a_break_only_a_scenario_can_expect_none(tmp_path: Path) -> None:
    run = simulate(told("17-unclean-election", checks={"exposed_unique": True}), tmp_path / "run")
    assert not checks_of(run)["exposed_unique"]["as_expected"]
    assert checks_of(run)["exposed_durable"]["as_expected"]
