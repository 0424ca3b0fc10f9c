"""The simulator held against real Kafka: every recorded schedule that comes along.

``pytest tests/conformance --golden DIR`` plays the schedules of another folder.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import pytest

from recordings import GOLDEN, GOLDEN_KRAFT, GOLDEN_KRAFT_44
from tidegauge.laboratory.conformance.comparison import EXACT
from tidegauge.laboratory.conformance.conform import Conformance, conform, figures, idle_rows
from tidegauge.laboratory.conformance.known_differences import known_differences
from tidegauge.laboratory.conformance.recorded_schedule import (
    RecordingError,
    load_schedule,
    recorded_files,
)
from tidegauge.replication.release_versions import KRAFT_MODE, ZOOKEEPER_MODE
from tidegauge.views.conformance_report import SEEDS

TABLE = known_differences()

#: How many of the exact fields may differ for a known cause.
EXPLAINED_SHARE = 0.02


class Recorded(NamedTuple):
    """The recordings of a mode that come along."""

    mode: str
    folders: list[Path]
    #: At least so many exact fields are compared.
    fields: int
    #: How many of the schedules have nothing unexplained with the first seed that is tried.
    first_seed_share: float


ZOOKEEPER = Recorded(ZOOKEEPER_MODE, [GOLDEN], 50_000, 0.75)
KRAFT = Recorded(KRAFT_MODE, [GOLDEN_KRAFT, GOLDEN_KRAFT_44], 110_000, 0.7)

#: Of the recordings of 4.4.0, those that are played each time.
SAMPLE_44 = {
    "b1_leader_kill",
    "e13_unclean_by_request_elr_dead",
    "q03_remove_active",  # a leader that is no voter any more resigns (KIP-853)
    "q06_lost_disk_by_hand",  # a voter with a new directory
    "q15_static_to_dynamic",  # kraft.version is raised
    "s4_reassign_unmoved_dead",  # a reassignment waits for what it adds (KAFKA-19975)
    "x4_cordon_all",  # cordoned log directories (KIP-1066)
    "y3_isr_order_of_ids",  # an ISR in the order of a hash table
}
#: ... and of 4.1.0: one for each mechanism.
SAMPLE = {
    "b1_leader_kill",  # fencing, election, return
    "c1_term_leader",  # controlled shutdown
    "e4_elr_unclean_all_ret231",  # ELR and the last known leader
    "f1_rf2_kill_ret12_elr0",  # the same without ELR
    "f5_unclean_rf3_mi2",  # unclean election
    "l1_min_insync",  # high watermark below min.insync.replicas
    "i1_controller_kill",  # another controller
    "m1_controller_paused_short",
    "n1_paused_leader_acks1",
    "o2_bounce_leader",  # a registration that is refused
    "rand11",
    "s1_reassign",
    "u3_leader_cut_from_controller",
}


@cache
def played(file: Path) -> Conformance:
    """A file is played once, whoever asks."""
    with TemporaryDirectory() as folder:
        return conform(load_schedule(file), Path(folder), TABLE, seeds=SEEDS)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "recording" not in metafunc.fixturenames:
        return
    other: Path | None = metafunc.config.getoption("--golden")
    try:
        files = recorded_files([other] if other else [*ZOOKEEPER.folders, *KRAFT.folders])
    except RecordingError as error:
        raise pytest.UsageError(str(error)) from error
    metafunc.parametrize("recording", [_parameter(file) for file in files])


def _parameter(file: Path) -> object:
    is_long, name = False, file.stem
    if file.is_relative_to(GOLDEN_KRAFT):
        is_long, name = name not in SAMPLE, f"kraft-{name}"
    elif file.is_relative_to(GOLDEN_KRAFT_44):
        is_long, name = name not in SAMPLE_44, f"kraft-4.4-{name}"
    return pytest.param(file, id=name, marks=[pytest.mark.long] if is_long else [])


def test_the_simulator_does_what_real_brokers_did(recording: Path) -> None:
    differences = [
        f"step {each.step.number}, {each.step.op}: {each.field.text()}"
        for each in played(recording).unexplained
    ]
    assert differences == []


@pytest.mark.parametrize("recorded", [ZOOKEEPER, pytest.param(KRAFT, marks=pytest.mark.long)])
def test_few_fields_differ_for_a_known_cause_and_every_row_has_one(
    request: pytest.FixtureRequest, recorded: Recorded
) -> None:
    # One test, since it plays everything: of several, each would do so in a process of its own.
    if request.config.getoption("--golden"):
        pytest.skip("the table is about the recordings that come along")
    everything = [played(file) for file in recorded_files(recorded.folders)]
    compared, explained, _ = figures(everything, EXACT)
    assert compared > recorded.fields
    assert explained <= EXPLAINED_SHARE * compared
    first = sum(each.seed == 1 for each in everything)
    assert first >= recorded.first_seed_share * len(everything)
    # A row of several modes has its difference in the first of them.
    rows = [row for row in idle_rows(TABLE, everything) if row.modes[0] == recorded.mode]
    assert [f"line {row.line}: {row.cause}" for row in rows] == []
