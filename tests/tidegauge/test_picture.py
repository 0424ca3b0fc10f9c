"""``tidegauge picture``: a run on one screen, told by hand and held against its figures."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from scenario_runs import run_of, shipped
from tidegauge.command_line import app
from tidegauge.simulation.trace_rows.codes import BROKER_ABSENT, BROKER_ACTIVE, STOP_KILLED
from tidegauge.traces.run_files import MANIFEST
from tidegauge.views.time_axis import TimeAxis
from written_rows import MANIFEST_OF_TESTS, S, WrittenRows, named_partition

BROKER_1, BROKER_2, BROKER_3, CONTROLLER, ZOOKEEPER, SHOP = range(6)
CRASH, CUT_LINK = 5, 3
ALL, WITHOUT_FIRST, ONLY_SECOND, WITHOUT_THIRD = 0x321, 0x32, 0x2, 0x21

MANIFEST_OF_THE_HOUR: dict[str, Any] = {
    **MANIFEST_OF_TESTS,
    "scenario": {
        "name": "hour",
        "duration": "60s",
        "release": "2.6",
        "cluster": {"brokers": 3},
        "topics": [
            {
                "name": "orders",
                "assignment": {0: [1, 2, 3], 1: [1, 2, 3]},
                "settings": {"min.insync.replicas": 2},
            }
        ],
    },
    "partitions": [named_partition(number, [1, 2, 3], min_isr=2) for number in (0, 1)],
    "faults": [
        {"name": "kill", "kind": "crash", "text": "crash of 1"},
        {"name": "cable", "kind": "cut_link", "text": "cut_link 2 <-> 3"},
    ],
}


def registered(rows: WrittenRows, second: int, broker: int, state: int) -> None:
    """The control plane has a broker from a second on, or has it no more."""
    rows.write("broker_state", second * S, ZOOKEEPER, broker=broker, state=int(state))


def an_hour() -> WrittenRows:
    """Broker 1, which leads both partitions, dies at 10 s and is back at 40 s.

    Its session ends at 16 s; at 18 s broker 2 leads. At 30 s it has lost broker 3 in partition 0,
    which therefore is under min ISR until 35 s. A batch of each partition waits from 10 s to 20 s,
    and in partition 0 another one to the end.
    """
    rows = WrittenRows()
    for broker in (BROKER_1, BROKER_2, BROKER_3):
        rows.write("broker_started", 0, broker, broker=broker)
        registered(rows, 0, broker, BROKER_ACTIVE)
    for partition in (0, 1):
        rows.held(0, partition, leader=0, isr=ALL)
        rows.write("became_leader", 0, BROKER_1, partition=partition, isr=ALL)
        rows.write("leader_elected", 0, CONTROLLER, partition=partition, leader=0, old_leader=-1,
                   isr=ALL)  # fmt: skip
    for second, ends in ((9, (90, 95)), (29, (170, 180))):
        rows.write("sampled", second * S, BROKER_2, partition=0, high_watermark=ends[0],
                   log_end_offset=ends[1])  # fmt: skip
    for partition in (0, 1):
        rows.write("produce_stalled", 11 * S, SHOP, partition=partition, waited_us=S)
        rows.write("produce_resumed", 20 * S, SHOP, partition=partition, stalled_us=9 * S)
    rows.write("produce_stalled", 55 * S, SHOP, partition=0, waited_us=S)
    rows.write("consume_stalled", 12 * S, SHOP, partition=1, waited_us=S)
    rows.write("consume_resumed", 20 * S, SHOP, partition=1, stalled_us=8 * S)
    rows.write("fault_began", 10 * S, BROKER_1, fault=0, fault_kind=CRASH)
    rows.write("broker_stopped", 10 * S, BROKER_1, broker=BROKER_1, stop=int(STOP_KILLED))
    registered(rows, 16, BROKER_1, BROKER_ABSENT)
    for partition in (0, 1):
        rows.held(18 * S, partition, leader=1, leader_epoch=1, isr=WITHOUT_FIRST)
        rows.write("became_leader", 19 * S, BROKER_2, partition=partition, leader_epoch=1)
        rows.write("leader_elected", 18 * S, CONTROLLER, partition=partition, leader=1,
                   leader_epoch=1, old_leader=0, isr=WITHOUT_FIRST)  # fmt: skip
    for process in (BROKER_2, BROKER_3):
        rows.write("fault_began", 28 * S, process, fault=1, fault_kind=CUT_LINK)
    rows.write("isr_shrunk", 30 * S, BROKER_2, partition=0)
    rows.held(30 * S, 0, leader=1, leader_epoch=1, isr=ONLY_SECOND)
    for second, process in ((32, BROKER_2), (33, BROKER_3)):
        rows.write("fault_ended", second * S, process, fault=1, fault_kind=CUT_LINK)
    rows.write("isr_expanded", 35 * S, BROKER_2, partition=0)
    rows.held(35 * S, 0, leader=1, leader_epoch=1, isr=WITHOUT_FIRST)
    rows.write("fault_ended", 40 * S, BROKER_1, fault=0, fault_kind=CRASH)
    rows.write("broker_started", 40 * S, BROKER_1, broker=BROKER_1)
    registered(rows, 40, BROKER_1, BROKER_ACTIVE)
    for partition in (0, 1):
        rows.write("isr_expanded", 50 * S, BROKER_2, partition=partition)
        rows.held(50 * S, partition, leader=1, leader_epoch=1, isr=ALL)
    return rows


@pytest.fixture
def hour(tmp_path: Path) -> Path:
    folder = an_hour().run(tmp_path / "hour")
    (folder / MANIFEST).write_text(json.dumps(MANIFEST_OF_THE_HOUR))
    return folder


def picture(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, ["picture", *map(str, arguments)])


def drawn(*arguments: str | Path) -> list[str]:
    result = picture(*arguments)
    assert result.exit_code == 0, result.stderr
    return result.stdout.splitlines()


# Each character is a second.
CLUSTER = """\
3 brokers, 2 partitions; 0s to 60s, 1s a character

                                     0s             15s            30s            45s            60s
partitions          most    seconds  |--------------|--------------|--------------|--------------
stalled                2       23.0             █████████                                   ▄▄▄▄▄
reads stalled          1        8.0              ████████
not accepting          2       18.0            █████████
offline                2        4.0                  ██
under min ISR          1        5.0                                █████
at min ISR             2       59.0                    ████████████▄▄▄▄▄███████████████
under-replicated       2       64.0                    ████████████████████████████████
changes             most        all  |--------------|--------------|--------------|--------------
ISR shrinks            1          1                                █
ISR expands            2          3                                     ▄              █
ISR removals           2          2                    █
leaders elected        2          2                    █
faults                               |--------------|--------------|--------------|--------------
kill: crash of 1                               ##############################
cable: cut_link 2 <-> 3                                          #####
"""

PARTITION = """\
orders-0; 0s to 60s, 1s a character

                                     0s             15s            30s            45s            60s
replicas                             |--------------|--------------|--------------|--------------
broker 1                             LLLLLLLLLLxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx..........==========
broker 2                             ==================LLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLL
broker 3                             ==============================.....=========================
stalled                                         !!!!!!!!!                                   !!!!!
reads stalled
not accepting                                  !!!!!!!!!
under min ISR                                                      !!!!!
kill: crash of 1                               ##############################
cable: cut_link 2 <-> 3                                          #####

                  10s kill begins      28s cable begins        33s cable ends           60s the end
                     HW       LEO          HW       LEO          HW       LEO          HW       LEO
broker 1      x       -         -   x       -         -   x       -         -   =       -         -
broker 2      =      90        95   L      90        95   L     170       180   L     170       180
broker 3      =       -         -   =       -         -   .       -         -   =       -         -
"""


def test_a_cluster_is_drawn_over_time(hour: Path) -> None:
    assert "\n".join(drawn(hour)[:19]) + "\n" == CLUSTER


def test_a_partition_is_drawn_replica_by_replica(hour: Path) -> None:
    assert "\n".join(drawn(hour, "--partition", "orders-0")[:19]) + "\n" == PARTITION


def test_a_part_of_the_time_has_its_own_scale(hour: Path) -> None:
    lines = drawn(hour, "--from", "16s", "--to", "19s")
    assert lines[0] == "3 brokers, 2 partitions; 16s to 19s, 0.05s a character"
    (offline,) = [line for line in lines if line.startswith("offline")]
    assert offline == f"{'offline':<17}{2:>7}{'4.0':>11}  {'█' * 40}"


def test_a_picture_fits_on_a_screen_however_many_faults_there_are(tmp_path: Path) -> None:
    rows = an_hour()
    faults = [{"name": f"kill-{n}", "kind": "crash", "text": "crash of 3"} for n in range(40)]
    for number in range(40):
        for kind, second in (("fault_began", 51), ("fault_ended", 52)):
            rows.write(kind, second * S, BROKER_3, fault=number, fault_kind=CRASH)
    folder = rows.run(tmp_path / "many")
    (folder / MANIFEST).write_text(json.dumps({**MANIFEST_OF_THE_HOUR, "faults": faults}))
    lines = drawn(folder)
    assert len(lines) <= 30
    assert all(len(line) <= 100 for line in lines)
    assert any(line.startswith("42 x crash") for line in lines)
    kinds = [{**fault, "kind": f"kind-{place}"} for place, fault in enumerate(faults)]
    folder = rows.run(tmp_path / "kinds")
    (folder / MANIFEST).write_text(json.dumps({**MANIFEST_OF_THE_HOUR, "faults": kinds}))
    for options in ((), ("--partition", "orders-0")):
        lines = drawn(folder, *options)
        assert len(lines) <= 30
        assert any(line.startswith("... and ") for line in lines)


def test_what_is_under_the_lines_are_the_figures_of_the_summary(tmp_path: Path) -> None:
    crash = {"kind": "crash", "at": "30s", "for": "40s", "brokers": [2]}
    run = run_of(
        shipped("quickstart-zookeeper", {"duration": "80s", "faults": [crash]}), tmp_path / "run"
    )
    assert run.summary is not None
    lines = drawn(run.path)
    for name in ("offline", "not accepting", "under min ISR", "at min ISR"):
        (line,) = [each for each in lines if each.startswith(name)]
        seconds = run.summary[f"partition_seconds_{name.lower().replace(' ', '_')}"]
        assert line[24:35].strip() == f"{seconds:,.1f}"
    assert run.summary["partition_seconds_offline"] > 0
    (line,) = [each for each in drawn(run.path) if each.startswith("ISR removals")]
    assert line.split()[3] == str(run.summary["isr_removals"]) == "33"


@pytest.mark.parametrize(
    ("values", "bars"),
    [([0, 1, 4, 8], " ▁▄█"), ([0, 0], ""), ([1, 10_000], "▁█"), ([3, 0, 3], "█ █")],
)
def test_what_is_not_nothing_is_seen_however_small(values: list[int], bars: str) -> None:
    assert TimeAxis(0, 4, 4, "▁▂▃▄▅▆▇█").bars(values) == bars


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--partition", "orders-7"), "orders-7: no such partition; nearest: orders-"),
        (("--from", "20s", "--to", "10s"), "--to 10s: is before --from 20s"),
        (("--from", "60s"), "there is nothing to draw: --from must be before --to"),
        (("--from", "soon"), "--from: must be a duration"),
    ],
)
def test_what_cannot_be_drawn_is_said_in_one_line(
    hour: Path, options: tuple[str, ...], said: str
) -> None:
    result = picture(hour, *options)
    assert (result.exit_code, result.stdout) == (2, "")
    assert said in result.stderr
    assert len(result.stderr.splitlines()) == 1
