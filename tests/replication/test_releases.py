"""The table of releases: what it covers, where its boundaries are, how versions are written."""

from __future__ import annotations

import re
from functools import cache
from typing import get_type_hints

import pytest
from typer.testing import CliRunner

from tidegauge.command_line import app
from tidegauge.replication.kraft_releases import (
    KRAFT_CELLS,
    KRaftRules,
    kraft_cells_of,
    kraft_rules_of,
)
from tidegauge.replication.release_defaults import DEFAULTS, default_cells_of, defaults_of
from tidegauge.replication.release_rules import (
    EPOCH_CACHE_A,
    EPOCH_CACHE_B,
    EPOCH_CACHE_C,
    EPOCH_CACHE_D,
    EPOCH_CACHE_NONE,
    HEARTBEAT_TIMEOUT_HALF_SESSION,
    HEARTBEAT_TIMEOUT_INTERVAL,
    HEARTBEAT_TIMEOUT_SOCKET,
    HIGH_WATERMARK_BY_ISR_OR_CAUGHT_UP,
    HIGH_WATERMARK_BY_ISR_OR_ELIGIBLE,
    HIGH_WATERMARK_BY_ISR_OR_LAG_TIME,
    ISR_UPDATE_ALTER_PARTITION,
    ISR_UPDATE_ZOOKEEPER,
    ISR_UPDATE_ZOOKEEPER_PENDING,
    OUT_OF_SYNC_BY_OFFSET_AND_TIME,
    OUT_OF_SYNC_BY_TIME,
    RESTART_ON_NEW_EPOCH,
    RESTART_ON_NEW_LEADER,
    RESTART_UNLESS_NEXT_EPOCH,
    RESTART_UNLESS_SAME_EPOCH,
    TRUNCATE_KIP_101,
    TRUNCATE_KIP_279,
    TRUNCATE_KIP_320,
    TRUNCATE_ON_FETCH,
    TRUNCATE_TO_HIGH_WATERMARK,
    ReleaseRules,
)
from tidegauge.replication.release_versions import (
    DEFAULT_RELEASE,
    DEFAULT_RELEASES,
    KRAFT_MODE,
    ZOOKEEPER_MODE,
    Cell,
    Mode,
    ProtocolVersion,
    Release,
    all_protocol_versions,
    all_releases,
)
from tidegauge.replication.releases import (
    REFERENCE_LINES,
    RULE_CELLS,
    checkpoint_format_of,
    rule_cells_of,
    rules_of,
    value_name,
)

ROWS = {**RULE_CELLS, **KRAFT_CELLS, **DEFAULTS}


def rule(name: str, release: str, protocol: str | None = None) -> int:
    """One switch of a release."""
    value: int = getattr(rules_of(release, protocol), name)
    return value


# The table as a whole.


def test_every_switch_has_a_cell_in_every_release_and_mode() -> None:
    for release in all_releases():
        for mode in release.modes:
            cells = rule_cells_of(str(release), None, mode)
            assert cells.keys() == get_type_hints(ReleaseRules).keys(), release
        if KRAFT_MODE in release.modes:
            assert kraft_cells_of(str(release)).keys() == get_type_hints(KRaftRules).keys(), release


@pytest.mark.parametrize("line", REFERENCE_LINES)
def test_every_switch_has_a_cell_under_the_oldest_protocol(line: str) -> None:
    assert rule_cells_of(line, "0.8.0").keys() == get_type_hints(ReleaseRules).keys()


@pytest.mark.parametrize("line", REFERENCE_LINES)
def test_the_record_holds_the_values_of_the_cells(line: str) -> None:
    rules = rules_of(line)
    assert {name: getattr(rules, name) for name in RULE_CELLS} == {
        name: cell.value for name, cell in rule_cells_of(line).items()
    }


def test_a_caller_may_write_to_its_record() -> None:
    mine = rules_of("2.6")
    mine.out_of_sync_rule = OUT_OF_SYNC_BY_TIME
    assert rules_of("2.6").out_of_sync_rule == OUT_OF_SYNC_BY_OFFSET_AND_TIME


def test_each_cell_says_where_it_was_read() -> None:
    read = re.compile(r"[A-Z]\w+\.\w+@\d+(\.\d+){2,3}")
    known = re.compile(r"(KAFKA|KIP)-\d+")

    def says_so(cell: Cell) -> bool:
        others = [part for part in cell.source.split(", ") if not read.fullmatch(part)]
        return len(others) < len(cell.source.split(", ")) and all(map(known.fullmatch, others))

    assert [cell for cells in ROWS.values() for cell in cells if not says_so(cell)] == []


def test_each_cell_begins_with_an_exact_release_and_protocol() -> None:
    for cell in (cell for cells in ROWS.values() for cell in cells):
        since = Release.parse(cell.since)
        assert (str(since), since.newer_than_known) == (cell.since, None), cell
        if cell.protocol is not None:
            version = ProtocolVersion.parse(cell.protocol)
            assert (str(version), version.newer_than_known) == (cell.protocol, None), cell


@cache
def releases_and_versions(mode: Mode) -> list[tuple[Release, ProtocolVersion]]:
    """Each release with each version of the protocol, or of the metadata, that it knows."""
    return [
        (release, version)
        for release in all_releases(mode)
        for version in all_protocol_versions(mode)
        if version <= release.version(mode)
    ]


def deciding(name: str) -> set[Cell]:
    """The cells of a row that decide in some release."""
    modes: tuple[Mode, ...] = (KRAFT_MODE,) if name in KRAFT_CELLS else (ZOOKEEPER_MODE, KRAFT_MODE)
    found: set[Cell] = set()
    for mode in modes:
        for release, version in releases_and_versions(mode):
            applying = [cell for cell in ROWS[name] if cell.applies(release, version, mode)]
            found.update(applying[-1:])
    return found


def test_each_cell_decides_in_some_release() -> None:
    undecided = {name: set(cells) - deciding(name) for name, cells in ROWS.items()}
    assert {name: cells for name, cells in undecided.items() if cells} == {}


def test_each_cell_changes_something() -> None:
    """A cell that repeats what applies without it would say nothing."""
    for name, cells in (RULE_CELLS | KRAFT_CELLS).items():
        mode: Mode = KRAFT_MODE if name in KRAFT_CELLS else ZOOKEEPER_MODE
        for index, cell in enumerate(cells[1:], start=1):
            since = Release.parse(cell.since)
            protocol = ProtocolVersion.parse(cell.protocol or str(since))
            before = [each for each in cells[:index] if each.applies(since, protocol, mode)]
            assert before[-1].value is not cell.value, (name, cell)


# Boundaries, as stories.


def test_up_to_2_0_an_idle_follower_that_falls_silent_leaves_the_isr() -> None:
    assert rule("out_of_sync_rule", "2.0.1") == OUT_OF_SYNC_BY_TIME
    assert rule("out_of_sync_rule", "2.1.0") == OUT_OF_SYNC_BY_OFFSET_AND_TIME


def test_2_0_0_lets_a_follower_join_at_the_high_watermark_but_not_2_0_1() -> None:
    """KAFKA-7128."""
    assert not rule("expand_requires_epoch_start", "2.0.0")
    assert rule("expand_requires_epoch_start", "2.0.1")
    assert rule("expand_requires_epoch_start", "2.1.0")


def test_up_to_2_3_a_failed_read_overwrites_what_the_leader_knew() -> None:
    """KAFKA-8400."""
    assert rule("failed_read_updates_follower", "2.3.1")
    assert rule("unknown_last_fetch_time_ms", "2.3.1") == -1
    assert not rule("failed_read_updates_follower", "2.4.0")
    assert rule("unknown_last_fetch_time_ms", "2.4.0") == 0


def test_from_3_3_a_replica_joins_only_if_its_broker_is_alive() -> None:
    assert not rule("expand_requires_eligible", "3.2.3")
    assert rule("expand_requires_eligible", "3.3.0")


def test_from_3_3_only_a_new_leader_epoch_resets_the_view_of_followers() -> None:
    for name in ("followers_reset_on_new_epoch_only", "partition_epoch_checked"):
        assert not rule(name, "3.2.3")
        assert rule(name, "3.3.0")


def test_from_3_7_the_high_watermark_waits_for_min_insync_replicas() -> None:
    """KAFKA-15583."""
    assert not rule("high_watermark_waits_for_min_isr", "3.6.2")
    assert not rule("min_isr_capped_by_replicas", "3.6.2")
    assert rule("high_watermark_waits_for_min_isr", "3.7.0")
    assert rule("min_isr_capped_by_replicas", "3.7.0")


def test_three_generations_of_who_holds_back_the_high_watermark() -> None:
    for releases, expected in (
        (("0.10.2.0", "2.6.3", "3.2.3"), HIGH_WATERMARK_BY_ISR_OR_LAG_TIME),
        (("3.3.0", "3.5.2"), HIGH_WATERMARK_BY_ISR_OR_CAUGHT_UP),
        (("3.6.0", "3.9.0"), HIGH_WATERMARK_BY_ISR_OR_ELIGIBLE),
    ):
        assert [rule("high_watermark_rule", release) for release in releases] == [
            expected for _ in releases
        ]


def test_who_writes_a_changed_isr_depends_on_release_and_protocol() -> None:
    path = "isr_update_path"
    assert rule(path, "2.6") == ISR_UPDATE_ZOOKEEPER
    assert rule(path, "2.7.0") == ISR_UPDATE_ALTER_PARTITION
    assert rule(path, "2.7.0", "2.7-IV1") == ISR_UPDATE_ZOOKEEPER
    assert rule(path, "2.8.0", "2.7-IV1") == ISR_UPDATE_ZOOKEEPER_PENDING
    assert rule(path, "3.9", "2.6") == ISR_UPDATE_ZOOKEEPER_PENDING
    assert rule(path, "3.9") == ISR_UPDATE_ALTER_PARTITION


def test_from_2_7_to_3_0_a_confirmed_shrink_does_not_move_the_high_watermark() -> None:
    """KAFKA-13091; where ZooKeeper is written at once it does."""
    names = ("high_watermark_on_isr_proposal", "high_watermark_on_isr_update")
    for release, protocol, expected in (
        ("2.6.3", None, (False, True)),
        ("2.7.0", None, (True, False)),
        ("2.7.0", "2.6", (False, True)),
        ("3.0.2", None, (True, False)),
        ("3.0.2", "2.6", (False, True)),
        ("3.1.0", None, (False, True)),
    ):
        assert tuple(rule(name, release, protocol) for name in names) == expected


@pytest.mark.parametrize(
    ("name", "before"),
    [("isr_update_ignores_equal_epoch", True), ("log_start_checked_before_divergence", False)],
)
def test_some_fixes_came_to_2_7_2_and_2_8_1_but_not_to_2_8_0(name: str, before: bool) -> None:
    """KAFKA-12751 and KAFKA-12996."""
    fixed = not before
    for release, expected in (
        ("2.7.1", before),
        ("2.7.2", fixed),
        ("2.8.0", before),
        ("2.8.1", fixed),
        ("3.0.0", fixed),
    ):
        assert rule(name, release) == expected


@pytest.mark.parametrize(
    ("name", "issue", "last_without", "first_with"),
    [
        ("epoch_answer_dropped_on_new_epoch", "KAFKA-7786", "2.1.0", "2.1.1"),
        ("epoch_assigned_on_become_leader", "KAFKA-7415", "2.0.0", "2.0.1"),
        ("failed_partition_leaves_fetcher", "KIP-461", "2.2.2", "2.3.0"),
        ("fenced_only_in_current_epoch", "KAFKA-9654", "2.4.1", "2.5.0"),
        ("fetch_starts_at_high_watermark", "KIP-113", "1.0.2", "1.1.0"),
        ("high_watermark_clamped_to_log", "", "2.3.1", "2.4.0"),
        ("high_watermark_only_if_follower_moved", "KAFKA-8841", "2.3.1", "2.4.0"),
        ("isr_update_reverts_if_not_attempted", "KAFKA-13254", "3.0.2", "3.1.0"),
        ("isr_update_gives_up_on_invalid_request", "KIP-704", "3.1.2", "3.2.0"),
        ("isr_update_queued_again", "KAFKA-14010", "3.2.0", "3.2.1"),
        ("alter_partition_epoch_checked", "", "3.2.3", "3.3.0"),
        ("alter_partition_requires_eligible", "KIP-841", "3.2.3", "3.3.0"),
        ("last_isr_member_stays", "KAFKA-5642", "1.0.2", "1.1.0"),
        ("list_offsets_waits_for_epoch_start", "KIP-207", "2.1.1", "2.2.0"),
        ("missing_log_is_not_leader", "KAFKA-10223", "2.5.1", "2.6.0"),
        ("stop_replica_accepts_equal_epoch", "KAFKA-13972", "3.4.0", "3.4.1"),
        ("under_replicated_without_adding", "KIP-352", "2.4.1", "2.5.0"),
    ],
)
def test_first_release_of_a_change(
    name: str, issue: str, last_without: str, first_with: str
) -> None:
    assert not rule(name, last_without)
    assert rule(name, first_with)
    assert issue in rule_cells_of(first_with)[name].source


def test_faults_and_the_release_that_mended_them() -> None:
    for name, last_faulty, first_sound in (
        ("epoch_kept_by_empty_truncation", "2.6.0", "2.6.1"),
        ("high_watermark_from_diverging_response", "3.4.0", "3.4.1"),
        ("out_of_range_can_stop_broker", "2.0.0", "2.0.1"),
    ):
        assert rule(name, last_faulty), name
        assert not rule(name, first_sound), name


def test_no_response_diverges_before_2_8() -> None:
    assert not rule("high_watermark_from_diverging_response", "2.7")
    assert rule("high_watermark_from_diverging_response", "2.8")


# Leader epochs and truncation: the release and the protocol decide together.


@pytest.mark.parametrize(
    ("release", "protocol", "expected"),
    [
        ("0.10.2", None, "TRUNCATE_TO_HIGH_WATERMARK"),
        ("0.11", None, "TRUNCATE_KIP_101"),
        ("0.11", "0.11.0-IV1", "TRUNCATE_TO_HIGH_WATERMARK"),
        ("1.1", None, "TRUNCATE_KIP_101"),
        ("2.0", None, "TRUNCATE_KIP_279"),
        ("2.0", "1.1", "TRUNCATE_KIP_101"),
        ("2.1", None, "TRUNCATE_KIP_320"),
        ("2.1", "2.1-IV0", "TRUNCATE_KIP_279"),
        ("2.6.3", None, "TRUNCATE_KIP_320"),
        ("2.6.3", "0.11.0", "TRUNCATE_KIP_101"),
        ("2.6.3", "0.10.2", "TRUNCATE_TO_HIGH_WATERMARK"),
        ("2.7", None, "TRUNCATE_KIP_320"),
        ("2.8", None, "TRUNCATE_ON_FETCH"),
        ("2.8", "2.7-IV1", "TRUNCATE_ON_FETCH"),
        ("2.8", "2.7-IV0", "TRUNCATE_KIP_320"),
        ("3.9", None, "TRUNCATE_ON_FETCH"),
        ("3.9", "0.10.2", "TRUNCATE_TO_HIGH_WATERMARK"),
    ],
)
def test_how_a_follower_truncates(release: str, protocol: str | None, expected: str) -> None:
    assert value_name(rule_cells_of(release, protocol)["truncation_protocol"].value) == expected


def test_the_kips_of_truncation() -> None:
    kips = {
        TRUNCATE_KIP_101: ("0.11", "KIP-101"),
        TRUNCATE_KIP_279: ("2.0", "KIP-279"),
        TRUNCATE_KIP_320: ("2.1", "KIP-320"),
        TRUNCATE_ON_FETCH: ("2.8", "KIP-595"),
    }
    for value, (release, kip) in kips.items():
        cell = rule_cells_of(release)["truncation_protocol"]
        assert cell.value == value
        assert cell.source.startswith(kip)
    assert rule("truncation_protocol", "0.10.2") == TRUNCATE_TO_HIGH_WATERMARK


def test_generations_of_the_leader_epoch_cache() -> None:
    name = "epoch_cache_generation"
    assert rule(name, "0.10.2") == EPOCH_CACHE_NONE
    assert rule(name, "0.11") == rule(name, "1.1") == EPOCH_CACHE_A
    assert rule(name, "2.0.0") == EPOCH_CACHE_B
    assert rule(name, "2.0.1") == rule(name, "2.1") == rule(name, "2.6") == EPOCH_CACHE_C
    assert rule(name, "2.7") == rule(name, "3.9") == EPOCH_CACHE_D


def test_records_carry_epochs_from_protocol_0_11_0_iv0_on() -> None:
    assert not rule("records_carry_epoch", "2.6", "0.10.2")
    assert rule("records_carry_epoch", "2.6", "0.11.0-IV0")
    assert rule("records_carry_epoch", "3.9")


def test_without_epochs_in_its_records_a_log_has_no_cache_from_2_1_1_on() -> None:
    """KAFKA-7897; before, it had one without entries."""
    name = "epoch_cache_generation"
    assert rule(name, "2.1.0", "0.10.2") == EPOCH_CACHE_C
    assert rule(name, "2.1.1", "0.10.2") == EPOCH_CACHE_NONE
    assert rule(name, "2.1.1", "0.11.0-IV0") == EPOCH_CACHE_C
    assert rule(name, "3.9", "0.10.2") == EPOCH_CACHE_NONE
    assert rule(name, "3.9", "0.11.0-IV0") == EPOCH_CACHE_D


def test_which_leader_and_isr_restarts_a_fetcher() -> None:
    name = "fetcher_restart_rule"
    assert rule(name, "0.10.2") == rule(name, "2.0.0") == RESTART_ON_NEW_LEADER
    assert rule(name, "2.0.1") == RESTART_UNLESS_NEXT_EPOCH
    assert rule(name, "2.1.0") == rule(name, "3.2.3") == RESTART_UNLESS_SAME_EPOCH
    assert rule(name, "3.3.0") == rule(name, "3.9") == RESTART_ON_NEW_EPOCH


def test_requests_carry_epochs_from_a_protocol_on() -> None:
    for name, without, with_epoch in (
        ("epoch_request_fenced", "2.1-IV0", "2.1-IV1"),
        ("fetch_fenced", "2.1-IV1", "2.1-IV2"),
        ("broker_epoch_fenced", "2.1-IV2", "2.2-IV0"),
        ("stop_replica_fenced", "2.5-IV0", "2.6-IV0"),
    ):
        assert not rule(name, "2.6", without), name
        assert rule(name, "2.6", with_epoch), name


def test_a_broker_of_2_6_3_that_speaks_0_10_2_keeps_the_fixes_of_its_own_release() -> None:
    rules = rules_of("2.6.3", "0.10.2")
    assert rules.truncation_protocol == TRUNCATE_TO_HIGH_WATERMARK
    assert rules.isr_update_path == ISR_UPDATE_ZOOKEEPER
    assert rules.out_of_sync_rule == OUT_OF_SYNC_BY_OFFSET_AND_TIME
    assert rules.expand_requires_epoch_start


# Defaults.


def test_defaults_that_changed() -> None:
    for name, last_before, before, first_after, after in (
        ("replica.lag.time.max.ms", "2.4", 10_000, "2.5.0", 30_000),
        ("zookeeper.session.timeout.ms", "2.4", 6_000, "2.5.0", 18_000),
        ("unclean.leader.election.enable", "0.10.2", True, "0.11.0.0", False),
        ("acks", "2.8", "1", "3.0.0", "all"),
        ("retries", "2.0", 0, "2.1.0", 2**31 - 1),
    ):
        assert defaults_of(last_before)[name] == before
        assert defaults_of(first_after)[name] == after


def test_a_setting_is_absent_where_kafka_does_not_know_it() -> None:
    assert "delivery.timeout.ms" not in defaults_of("2.0")
    assert "delivery.timeout.ms" in defaults_of("2.1.0")


def test_defaults_that_are_the_same_in_all_releases() -> None:
    for line in REFERENCE_LINES:
        defaults = defaults_of(line)
        assert defaults["min.insync.replicas"] == 1
        assert defaults["replica.fetch.wait.max.ms"] == 500
        assert defaults["isr_change_notification_quiet_ms"] == 5_000
        assert default_cells_of(line).keys() == defaults.keys()


def test_who_reads_the_checkpoints_changed_with_3_1() -> None:
    assert checkpoint_format_of("3.0").name == "SCALA"
    assert checkpoint_format_of("3.1").name == "JAVA"


# How versions are written.


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("0.10.2", "0.10.2.2"),
        ("0.10.2.0", "0.10.2.0"),
        ("0.11", "0.11.0.3"),
        ("0.11.0", "0.11.0.3"),
        ("0.11.0.1", "0.11.0.1"),
        ("1.1", "1.1.1"),
        ("2.0", "2.0.1"),
        ("2.0.0", "2.0.0"),
        ("2.6", "2.6.3"),
        (" 2.6.3 ", "2.6.3"),
        ("3.9.0", "3.9.0"),
    ],
)
def test_a_line_means_its_last_patch(written: str, meant: str) -> None:
    assert str(Release.parse(written)) == meant


def test_the_newest_release_is_the_default_and_with_zookeeper_3_9() -> None:
    assert all_releases()[-1] == Release.parse(DEFAULT_RELEASE) == Release.parse("4.4.0")
    assert DEFAULT_RELEASES == {ZOOKEEPER_MODE: "3.9", KRAFT_MODE: DEFAULT_RELEASE}


def test_the_reference_lines_are_ordered() -> None:
    assert sorted(REFERENCE_LINES, key=Release.parse) == list(REFERENCE_LINES)


def test_versions_are_ordered_by_number() -> None:
    assert all_releases() == sorted(all_releases())
    assert Release.parse("0.11.0.0") < Release.parse("1.0.0") < Release.parse("2.0")
    assert all_protocol_versions() == sorted(all_protocol_versions())
    assert ProtocolVersion.parse("0.10.2") < ProtocolVersion.parse("0.11.0-IV0")


@pytest.mark.parametrize(
    "written",
    [
        "0.10.1",
        "0.10",
        "0.9.0.1",
        "2.9",
        "2",
        "2.6.x",
        "2.6.4",
        "2.6.3.1",
        "abc",
        "",
        "-2.6",
        "٢.٦",
    ],
)
def test_what_is_no_release_is_told_which_there_are(written: str) -> None:
    with pytest.raises(
        ValueError, match=r"no release .*: there are 0\.10\.2\.0 to 4\.4\.0"
    ) as error:
        rules_of(written)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("written", ["4.0", "4.1.0"])
def test_from_4_0_on_there_is_no_zookeeper(written: str) -> None:
    assert Release.parse(written).mode() == KRAFT_MODE
    with pytest.raises(ValueError, match=r"no ZooKeeper mode: the last .* is 3\.9\.2"):
        rules_of(written, mode=ZOOKEEPER_MODE)


def test_kraft_is_possible_from_3_3_on() -> None:
    """KIP-833: the first release in which KRaft is fit for production."""
    with pytest.raises(ValueError, match=r"no KRaft mode: the first .* is 3\.3\.0"):
        rules_of("3.2", mode=KRAFT_MODE)
    assert Release.parse("3.3.0").modes == (ZOOKEEPER_MODE, KRAFT_MODE)
    assert Release.parse("3.9").mode() == ZOOKEEPER_MODE


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("2.7-IV2", "2.7-IV2"),
        ("2.7", "2.7-IV2"),
        ("2.6.3", "2.6-IV0"),
        ("0.11.0", "0.11.0-IV2"),
        ("0.11", "0.11.0-IV2"),
        ("0.10.2", "0.10.2-IV0"),
        ("0.9.0", "0.9.0"),
    ],
)
def test_a_short_protocol_version_means_the_last_of_its_line(written: str, meant: str) -> None:
    assert str(ProtocolVersion.parse(written)) == meant


@pytest.mark.parametrize("release", all_releases(ZOOKEEPER_MODE), ids=str)
def test_a_release_speaks_the_last_version_of_its_line(release: Release) -> None:
    assert release.protocol().line == release.numbers[:-1]
    assert release.protocol("0.10.2") <= release.protocol()


@pytest.mark.parametrize(
    "written", ["2.6-IV1", "2.9", "0.9.0-IV0", "2.6.3-IV0", "IV0", "", "2.7-IV"]
)
def test_what_is_no_protocol_version_is_told_so(written: str) -> None:
    with pytest.raises(ValueError, match=r"no inter\.broker\.protocol\.version"):
        rules_of("3.9", written)


def test_a_release_does_not_speak_a_newer_protocol() -> None:
    with pytest.raises(ValueError, match=r"2\.7-IV0 is newer than release 2\.6\.3"):
        rules_of("2.6", "2.7-IV0")


@pytest.mark.parametrize(
    ("release", "version", "message"),
    [
        ("4.0", "4.1", r"metadata\.version 4\.1-IV1 is newer than release 4\.0\.2"),
        ("4.1", "3.3-IV2", r"older than 3\.3-IV3, the oldest that release 4\.1\.2 knows"),
        ("3.9", "3.2", r"older than 3\.3-IV3, the oldest that is simulated"),
        ("2.6", None, r"has no KRaft mode"),
    ],
)
def test_a_metadata_version_is_one_that_the_release_knows(
    release: str, version: str | None, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        kraft_rules_of(release, version)


@pytest.mark.parametrize(
    ("written", "read_as"),
    [("4.4.1", "4.4.0"), ("4.5", "4.4.0"), ("5.0.2", "4.4.0"), ("4.1.9", "4.1.2")],
)
def test_a_release_that_is_newer_than_known_is_read_as_the_newest_and_says_so(
    written: str, read_as: str
) -> None:
    """It may well exist: its own rules are not known yet."""
    release = Release.parse(written)
    assert f"is newer than what is known: it is read as {read_as}" in str(release.newer_than_known)
    assert Release.parse(read_as).newer_than_known is None
    assert release.metadata_version() == Release.parse(read_as).metadata_version()
    for kind in (rule_cells_of, kraft_cells_of, default_cells_of):
        assert kind(written) == kind(read_as)


def test_a_metadata_version_that_is_newer_than_known_is_read_as_the_newest() -> None:
    """Of a known release all versions are known, so it has no newer one."""
    version = Release.parse("4.5").metadata_version("4.5-IV1")
    assert "metadata.version 4.5-IV1 is newer" in str(version.newer_than_known)
    assert "read as 4.4-IV2" in str(version.newer_than_known)
    assert kraft_cells_of("4.5", "4.5-IV1") == kraft_cells_of("4.4")
    with pytest.raises(ValueError, match=r"4\.5-IV1 is newer than release 4\.4\.0"):
        Release.parse("4.4").metadata_version("4.5-IV1")


# KRaft: the release and the metadata.version decide together.


def kraft_rule(name: str, release: str, metadata_version: str | None = None) -> int:
    """One switch of KRaft."""
    value: int = getattr(kraft_rules_of(release, metadata_version), name)
    return value


@pytest.mark.parametrize(
    ("name", "issue", "last_before", "first_after"),
    [
        ("shutdown_offset_grows", "KAFKA-14292", "3.3.1", "3.3.2"),
        ("expired_heartbeat_is_contact", "KAFKA-15019", "3.4.1", "3.5.0"),
        ("large_operation_refused", "KAFKA-14996", "3.4.1", "3.5.0"),
        ("fetch_of_earlier_broker_epoch_refused", "KAFKA-15221", "3.6.2", "3.7.0"),
        ("leader_checks_quorum", "KAFKA-15489", "3.6.2", "3.7.0"),
        ("reassignment_rule", "KAFKA-15665", "3.7.2", "3.8.0"),
        ("reassignment_rule", "KAFKA-19975", "4.2.2", "4.3.0"),
        ("unclean_election_periodic", "KAFKA-12670", "3.8.1", "3.9.0"),
        ("reregistration_keeps_epoch", "KAFKA-16952", "3.8.1", "3.9.0"),
        ("registration_clears_isr", "KAFKA-18106", "3.9.2", "4.0.0"),
        ("contact_noted_at_arrival", "KAFKA-17793", "3.9.2", "4.0.0"),
        ("pre_vote", "KIP-996", "3.9.2", "4.0.0"),
        ("stale_broker_rule", "", "3.9.2", "4.0.0"),
        ("fenced_last_known_leader_elected", "KAFKA-19522", "4.0.1", "4.1.0"),
        ("cordoned_assignment_refused", "KIP-1066", "4.3.1", "4.4.0"),
        ("fenced_sessions_restart", "KAFKA-18138", "3.9.2", "4.0.0"),
        ("fenced_sessions_restart", "KAFKA-19130", "4.0.1", "4.1.0"),
        ("election_loss_rule", "KAFKA-18345", "3.9.1", "3.9.2"),
        ("election_loss_rule", "KAFKA-18345", "4.0.0", "4.0.1"),
        ("election_loss_rule", "KAFKA-18345", "4.0.2", "4.1.0"),
        ("begin_quorum_epoch_rule", "KAFKA-16536", "3.8.1", "3.9.0"),
        ("begin_quorum_epoch_rule", "KAFKA-16926", "4.1.2", "4.2.0"),
    ],
)
def test_first_release_of_a_change_of_kraft(
    name: str, issue: str, last_before: str, first_after: str
) -> None:
    assert kraft_rule(name, last_before) != kraft_rule(name, first_after)
    assert issue in kraft_cells_of(first_after)[name].source


@pytest.mark.parametrize(
    ("name", "release", "last_before", "first_after"),
    [
        ("leader_epoch_raised_at_isr_shrink", "3.6", "3.5-IV2", "3.6-IV0"),
        ("directories_known", "4.0", "3.7-IV1", "3.7-IV2"),
        ("eligible_leader_replicas_possible", "4.0", "4.0-IV0", "4.0-IV1"),
        ("eligible_leader_replicas_by_default", "4.1", "4.0-IV3", "4.1-IV0"),
        ("metadata_fetch_carries_high_watermark", "4.1", "4.1-IV0", "4.1-IV1"),
        ("cordoned_directories_known", "4.3", "4.2-IV1", "4.3-IV0"),
    ],
)
def test_some_rules_come_with_the_metadata_version(
    name: str, release: str, last_before: str, first_after: str
) -> None:
    """metadata.version is a setting of the cluster: an upgraded one may still have an old one."""
    assert kraft_rule(name, release, last_before) != kraft_rule(name, release, first_after)
    assert kraft_rule(name, release) == kraft_rule(name, release, first_after)


def test_three_timeouts_of_a_heartbeat() -> None:
    """KAFKA-14392, KAFKA-19294."""
    for releases, expected in (
        (("3.3.0", "3.3.1"), HEARTBEAT_TIMEOUT_SOCKET),
        (("3.3.2", "3.4.0", "3.9.1", "4.0.0"), HEARTBEAT_TIMEOUT_HALF_SESSION),
        (("3.9.2", "4.0.1", "4.1.0"), HEARTBEAT_TIMEOUT_INTERVAL),
    ):
        for each in releases:
            assert rules_of(each, mode=KRAFT_MODE).heartbeat_timeout == expected


def test_members_of_an_isr_have_broker_epochs_with_the_metadata_version() -> None:
    """KIP-903; ZooKeeper has no broker epochs to compare."""
    for release, version, expected in (
        ("3.4", None, False),
        ("4.1", "3.5-IV0", False),
        ("4.1", "3.5-IV1", True),
    ):
        assert rules_of(release, version, KRAFT_MODE).broker_epochs_checked == expected
    assert not rules_of("3.9", mode=ZOOKEEPER_MODE).broker_epochs_checked


def test_with_kraft_a_leader_asks_the_controller_from_the_first_release_on() -> None:
    """KIP-497; with ZooKeeper it depends on inter.broker.protocol.version."""
    for release in all_releases(KRAFT_MODE):
        rules = rules_of(str(release), "3.3-IV3", KRAFT_MODE)
        assert rules.isr_update_path == ISR_UPDATE_ALTER_PARTITION
        assert rules.truncation_protocol == TRUNCATE_ON_FETCH


def test_each_mode_has_settings_of_its_own() -> None:
    zookeeper, kraft = defaults_of("3.9", ZOOKEEPER_MODE), defaults_of("3.9", KRAFT_MODE)
    assert zookeeper["zookeeper.session.timeout.ms"] == 18_000
    assert "zookeeper.session.timeout.ms" not in kraft
    assert kraft["broker.session.timeout.ms"] == 9_000
    assert kraft["broker.heartbeat.interval.ms"] == 2_000
    assert "broker.session.timeout.ms" not in zookeeper
    # KIP-1030 has raised it.
    assert defaults_of("4.1") == kraft | {"linger.ms": 5}


# The command.


def test_the_command_shows_where_rules_changed() -> None:
    shown = CliRunner().invoke(app, ["releases"])
    assert shown.exit_code == 0
    assert all(name in shown.stdout for name in RULE_CELLS)
    assert "2.7.2: no" in shown.stdout
    assert max(map(len, shown.stdout.splitlines())) <= 100


def test_the_command_shows_a_release_with_names_and_sources() -> None:
    shown = CliRunner().invoke(app, ["releases", "2.6.3", "--protocol", "0.10.2"])
    assert shown.exit_code == 0
    assert "Release 2.6.3 with ZooKeeper, inter.broker.protocol.version 0.10.2-IV0" in shown.stdout
    assert "TRUNCATE_TO_HIGH_WATERMARK" in shown.stdout
    assert "ReplicaManager.makeFollowers@0.10.2.0" in shown.stdout
    assert "replica.lag.time.max.ms" in shown.stdout
    assert max(map(len, shown.stdout.splitlines())) <= 100


@pytest.mark.parametrize(
    "arguments",
    [
        ["2.9"],
        ["2.6", "--mode", "kraft"],
        ["2.6", "--protocol", "3.0"],
        ["--protocol", "2.0"],
        ["2.6", "--protocol", ""],
    ],
)
def test_the_command_ends_an_error_in_one_line(arguments: list[str]) -> None:
    shown = CliRunner().invoke(app, ["releases", *arguments])
    assert shown.exit_code == 2
    assert shown.stdout == ""
    assert len(shown.stderr.splitlines()) == 1


def test_the_command_shows_a_release_with_kraft() -> None:
    shown = CliRunner().invoke(app, ["releases", "3.9", "--mode", "kraft", "--protocol", "3.5"])
    assert shown.exit_code == 0
    assert "Release 3.9.2 with KRaft, metadata.version 3.5-IV2" in shown.stdout
    assert all(name in shown.stdout for name in KRAFT_CELLS)
    assert "broker.session.timeout.ms" in shown.stdout
    assert "zookeeper.session.timeout.ms" not in shown.stdout
    assert max(map(len, shown.stdout.splitlines())) <= 100


def test_the_help_of_the_command_has_examples() -> None:
    shown = CliRunner().invoke(app, ["releases", "--help"])
    assert shown.exit_code == 0
    assert "tidegauge releases 2.6.3 --protocol 0.10.2" in shown.stdout


def test_two_releases_are_put_side_by_side_with_only_what_differs() -> None:
    """KIP-537 gives a session 18 s and a follower 30 s; KIP-352 changes under-replication."""
    shown = CliRunner().invoke(app, ["releases", "2.4", "2.6"])
    rows = [line.split() for line in shown.stdout.splitlines()]
    assert ["replica.lag.time.max.ms", "10000", "30000"] in rows
    assert ["under_replicated_without_adding", "no", "yes"] in rows
    assert not any(line[:1] == ["min.insync.replicas"] for line in rows)
    assert max(map(len, shown.stdout.splitlines())) <= 100
    alike = CliRunner().invoke(app, ["releases", "4.4", "4.4.0"])
    assert "No rule and no default differs." in alike.stdout
    refused = CliRunner().invoke(app, ["releases", "2.4", "2.6", "--protocol", "2.0"])
    assert refused.exit_code == 2
