"""What ``kafka-topics --describe`` prints, read back: real dumps, and any that could be one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidegauge.real_cluster.describe.describe_dump import (
    DescribedPartition,
    DescribeDump,
    read_describe_dump,
)
from tidegauge.real_cluster.describe.input_file import InputError, read_text

REAL_INPUT = Path(__file__).parents[1] / "data" / "real_input"
DUMPS = sorted(REAL_INPUT.glob("*.txt"))

HEALTHY = (
    "Topic: orders\tPartitionCount: 2\tReplicationFactor: 2\tConfigs: retention.ms=1000\n"
    "\tTopic: orders\tPartition: 0\tLeader: 1\tReplicas: 1,2\tIsr: 1,2\n"
    "\tTopic: orders\tPartition: 1\tLeader: 2\tReplicas: 2,1\tIsr: 2,1\n"
)


def dump_of(folder: Path, text: str | bytes) -> DescribeDump:
    file = folder / "describe.txt"
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    return dump_in(file)


def dump_in(file: Path) -> DescribeDump:
    return read_describe_dump(file, read_text(file))


def refusal(folder: Path, text: str) -> str:
    with pytest.raises(InputError) as refused:
        dump_of(folder, text)
    return str(refused.value).removeprefix(f"{folder / 'describe.txt'}:")


def words_of(line: str) -> list[str]:
    """The columns of a partition's line as awk would see them, names and values in turn."""
    return line.strip().split("\t")


@pytest.mark.parametrize("file", DUMPS, ids=lambda file: file.stem)
def test_each_line_of_a_real_dump_is_a_partition_that_was_read(file: Path) -> None:
    lines = [line for line in file.read_text().splitlines() if "\tPartition: " in line]
    dump = dump_in(file)
    assert sum(len(topic.partitions) for topic in dump.topics.values()) == len(lines)
    for line in lines:
        topic, number, leader, replicas, isr = (
            word.split(": ")[1] if ": " in word else "" for word in words_of(line)[:5]
        )
        partition = dump.topics[topic].partitions[int(number)]
        assert partition.leader == (None if leader in {"none", "-1"} else int(leader))
        assert ",".join(map(str, partition.replicas)) == replicas
        assert ",".join(map(str, partition.isr)) == isr


def test_a_warning_of_the_tool_is_skipped_and_its_line_is_named() -> None:
    dump = dump_in(REAL_INPUT / "kafka-2.6.3-two-brokers-down-describe.txt")
    (notice,) = dump.notices
    assert "line 1 (2026-11-20 12:18:04,520 WARN" in notice.text


def test_stack_traces_prompts_and_warnings_of_java_are_no_partitions(tmp_path: Path) -> None:
    noise = (
        "$ kafka-topics.sh --describe\n"
        "OpenJDK 64-Bit Server VM warning: Topic: none of its business\n"
        "[2026-11-20 12:18:04,520] WARN Partition: 3 is slow (org.apache.kafka.Client)\n"
        "Error while executing topic command : timed out\n"
        "java.util.concurrent.TimeoutException: Leader: unknown\n"
        "\tat org.apache.kafka.Admin.describe(Admin.java:7)\n"
        "\t... 7 more\n"
    )
    dump = dump_of(tmp_path, noise + HEALTHY)
    assert dump.topics == dump_of(tmp_path, "\n" * 7 + HEALTHY).topics
    assert not dump_of(tmp_path, HEALTHY).notices


@pytest.mark.parametrize(
    ("configs", "expected"),
    [
        ("", {}),
        (" cleanup.policy=compact,delete", {"cleanup.policy": "compact,delete"}),
        (
            " leader.replication.throttled.replicas=0:101,1:102,min.insync.replicas=2",
            {"leader.replication.throttled.replicas": "0:101,1:102", "min.insync.replicas": "2"},
        ),
    ],
)
def test_a_setting_may_have_several_values(
    tmp_path: Path, configs: str, expected: dict[str, str]
) -> None:
    dump = dump_of(tmp_path, HEALTHY.replace(" retention.ms=1000", configs))
    assert dump.topics["orders"].settings == expected


def test_what_editors_and_shells_do_to_a_file_does_no_harm(tmp_path: Path) -> None:
    plain = dump_of(tmp_path, HEALTHY)
    for changed in (
        HEALTHY.replace("\n", "\r\n"),
        "\ufeff" + HEALTHY,
        HEALTHY.replace("\t", "    "),
        HEALTHY.replace(": ", ":"),
        HEALTHY.rstrip("\n"),
        HEALTHY.encode("utf-16"),
    ):
        assert dump_of(tmp_path, changed).topics == plain.topics


def test_a_partition_that_is_being_moved_has_old_and_new_replicas(tmp_path: Path) -> None:
    line = HEALTHY.replace(
        "1,2\tIsr: 1,2", "1,2,3\tIsr: 1,2\tAdding Replicas: 3\tRemoving Replicas: 1"
    )
    partition = dump_of(tmp_path, line).topics["orders"].partitions[0]
    assert partition == DescribedPartition(0, 1, (1, 2, 3), (1, 2), adding=(3,), removing=(1,))


def test_columns_of_kraft_are_read_whether_filled_or_not(tmp_path: Path) -> None:
    filled, empty = "\tElr: 2,1\tLastKnownElr: 1", "\tElr: N/A\tLastKnownElr: "
    kraft = HEALTHY.replace("Leader: 1", "Leader: none").replace("Isr: 1,2", f"Isr: {filled}")
    dump = dump_of(tmp_path, kraft.replace("Isr: 2,1\n", f"Isr: 2,1{empty}\n"))
    first, second = dump.topics["orders"].partitions.values()
    assert first == DescribedPartition(0, None, (1, 2), (), eligible=(2, 1), last_known=(1,))
    assert second == DescribedPartition(1, 2, (2, 1), (2, 1))


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("Leader: 1", "Leader: 3", "2: Leader has 3, which is not among the replicas 1,2"),
        ("Leader: 1", "Leader: one", "2: Leader must be a broker id, none or -1, not 'one'"),
        ("Isr: 2,1", "Isr: 2\n,1", "4: has only numbers: was the line before broken in two?"),
        ("Isr: 1,2", "Isr: 1\tRemoving Replicas: 1,2", "2: Removing Replicas has all of"),
        ("Isr: 2,1", "Isr: 2,7", "3: Isr has 7, which is not among the replicas 2,1"),
        ("Isr: 2,1", "", "3: cannot be read: it has no Isr"),
        ("Replicas: 2,1", "Replicas: 2,,1", "3: Replicas must be broker ids"),
        ("Replicas: 2,1", "Replicas: 2,2", "3: Replicas must be each broker id once"),
        ("Replicas: 2,1", "Replicas:", "3: Replicas must be at least one broker id"),
        ("Partition: 1", "Partition: 0", "3: orders-0 is described otherwise on line 2"),
        ("Partition: 1", "Partition: 9", "3: orders has PartitionCount 2 on line 1"),
        ("Partition: 1", "Partition: 999999999", "3: Partition must be a number below"),
        ("Partition: 1", "Partition 1", "3: cannot be read: 'orders\\tPartition 1' is not the"),
        ("Topic: orders\tPartition: 1", "Topic: or/ders\tPartition: 1", "3: cannot be read"),
        ("Topic: orders\tPartition: 1", "Partition: 1", "3: cannot be read: '' is not the"),
        ("PartitionCount: 2", "PartitionCount: many", "1: PartitionCount must be a number"),
        ("retention.ms=1000", "retention", "1: Configs must be settings such as"),
        ("Topic: orders\tPartitionCount", "Topic: shop\tPartitionCount", "1: shop has no part"),
    ],
)
def test_what_contradicts_itself_is_refused_with_its_line(
    tmp_path: Path, old: str, new: str, expected: str
) -> None:
    assert refusal(tmp_path, HEALTHY.replace(old, new, 1)).startswith(expected)


@pytest.mark.parametrize("text", ["", "\n\n", "no such topic\n"])
def test_a_file_that_describes_nothing_is_refused(tmp_path: Path, text: str) -> None:
    assert "describes no topic" in refusal(tmp_path, text)


def test_two_dumps_in_one_file_may_say_the_same_twice(tmp_path: Path) -> None:
    dump = dump_of(tmp_path, HEALTHY + HEALTHY)
    assert dump.topics == dump_of(tmp_path, HEALTHY).topics
    assert "orders-1 is described twice, alike, on lines 3 and 6" in [
        notice.text for notice in dump_of(tmp_path, HEALTHY + HEALTHY).notices
    ]


# Any dump of any release.

IDS = st.lists(st.integers(0, 2**31 - 1), min_size=1, max_size=5, unique=True)


@st.composite
def partitions(draw: st.DrawFn, number: int) -> DescribedPartition:
    replicas = draw(IDS)
    isr = draw(st.permutations(replicas))[: draw(st.integers(1, len(replicas)))]
    leader = draw(st.sampled_from([None, *isr]))
    return DescribedPartition(number, leader, tuple(replicas), tuple(isr))


@st.composite
def topics(draw: st.DrawFn) -> list[DescribedPartition]:
    return [draw(partitions(number)) for number in range(draw(st.integers(1, 5)))]


def written(name: str, of_topic: list[DescribedPartition], form: str) -> str:
    """A topic as a tool prints it: the old one, the one of 2.x, the one of KRaft."""
    colon = ":" if form == "old" else ": "
    nobody = "-1" if form == "old" else "none"
    topic_id = "TopicId: AAECAwQFBgcICQoLDA0ODw\t" if form == "kraft" else ""
    last = "\tElr: \tLastKnownElr: " if form == "kraft" else ""
    factor = len(of_topic[0].replicas)
    counts = f"PartitionCount{colon}{len(of_topic)}\tReplicationFactor{colon}{factor}"
    lines = [f"Topic{colon}{name}\t{topic_id}{counts}\tConfigs{colon}"]
    for each in of_topic:
        leader = nobody if each.leader is None else each.leader
        replicas, isr = (",".join(map(str, ids)) for ids in (each.replicas, each.isr))
        lines.append(
            f"\tTopic: {name}\tPartition: {each.number}\tLeader: {leader}"
            f"\tReplicas: {replicas}\tIsr: {isr}{last}"
        )
    return "".join(f"{line}\n" for line in lines)


@settings(max_examples=60, deadline=None)
@given(
    described=st.dictionaries(
        st.from_regex(
            re.compile(r"[a-zA-Z0-9_-]{1,9}(\.[a-z0-9]{1,3})?", re.ASCII), fullmatch=True
        ),
        topics(),
        min_size=1,
        max_size=3,
    ),
    form=st.sampled_from(["old", "2.x", "kraft"]),
)
def test_any_dump_reads_back_as_it_was_written(
    tmp_path_factory: pytest.TempPathFactory,
    described: dict[str, list[DescribedPartition]],
    form: str,
) -> None:
    text = "".join(written(name, each, form) for name, each in described.items())
    dump = dump_of(tmp_path_factory.getbasetemp(), text)
    read = {name: list(topic.partitions.values()) for name, topic in dump.topics.items()}
    assert read == described
