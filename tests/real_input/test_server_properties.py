"""``server.properties`` of one broker or several, and what a scenario takes of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidegauge.real_cluster.describe.cluster_settings import (
    BrokerFiles,
    ClusterSettings,
    broker_files,
    cluster_settings,
)
from tidegauge.real_cluster.describe.input_file import InputError
from tidegauge.real_cluster.describe.server_properties import (
    ServerProperties,
    read_server_properties,
)
from tidegauge.replication.release_versions import KRAFT_MODE, ZOOKEEPER_MODE

REAL_INPUT = Path(__file__).parents[1] / "data" / "real_input"
RELEASE = "2.6.3"


def properties_of(folder: Path, text: str, name: str = "server.properties") -> ServerProperties:
    file = folder / name
    file.write_text(text, encoding="latin-1")
    return read_server_properties(file)


def files_of(folder: Path, *texts: str) -> BrokerFiles:
    return broker_files(
        [properties_of(folder, text, f"{place}.properties") for place, text in enumerate(texts)]
    )


def settings_of(folder: Path, *texts: str, brokers: tuple[int, ...] = (1, 2, 3)) -> ClusterSettings:
    return cluster_settings(files_of(folder, *texts), brokers, RELEASE, ZOOKEEPER_MODE)


def values_of(properties: ServerProperties) -> dict[str, str]:
    return {name: value.text for name, value in properties.properties.items()}


def told(read: ClusterSettings | BrokerFiles) -> str:
    return "\n".join(notice.text for notice in read.notices)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("broker.id=1", {"broker.id": "1"}),
        ("  broker.id : 1", {"broker.id": "1"}),
        ("broker.id 1", {"broker.id": "1"}),
        ("# broker.id=2\n! broker.id=3\n\nbroker.id=1", {"broker.id": "1"}),
        ("log.dirs=/a,\\\n   /b", {"log.dirs": "/a,/b"}),
        ("a=ends\\\\\nb=1", {"a": "ends\\", "b": "1"}),
        ("a=1\\\n# no comment", {"a": "1# no comment"}),
        ("broker.rack=\\u00fcber\\u0041", {"broker.rack": "überA"}),
        ("a=\\ud83d\\ude00", {"a": "😀"}),
        ("a\\=b=c=d", {"a=b": "c=d"}),
        ("a\\ b = c d ", {"a b": "c d "}),
        ("a=tab\\tnew\\nother\\q", {"a": "tab\tnew\notherq"}),
        ("a", {"a": ""}),
        ("a=1\r\nb=2\rc=3", {"a": "1", "b": "2", "c": "3"}),
        ("\xef\xbb\xbfa=1", {"a": "1"}),
    ],
)
def test_a_file_is_read_as_java_reads_it(
    tmp_path: Path, text: str, expected: dict[str, str]
) -> None:
    assert values_of(properties_of(tmp_path, text)) == expected


def escaped(text: str) -> str:
    """A name or a value with an escape for every letter, as Java's own writer makes them."""
    units = text.encode("utf-16-be")
    return "".join(rf"\u{units[i]:02x}{units[i + 1]:02x}" for i in range(0, len(units), 2))


@settings(max_examples=50, deadline=None)
@given(
    written=st.dictionaries(
        st.text(min_size=1, max_size=20), st.text(max_size=20), min_size=1, max_size=5
    ),
    separator=st.sampled_from(["=", " : ", "\t", " = \\\n  "]),
    end=st.sampled_from(["\n", "\r\n", "\n\n# and now:\n"]),
)
def test_what_was_escaped_is_read_back(
    tmp_path_factory: pytest.TempPathFactory, written: dict[str, str], separator: str, end: str
) -> None:
    lines = (f"{escaped(name)}{separator}{escaped(value)}{end}" for name, value in written.items())
    read = properties_of(tmp_path_factory.getbasetemp(), "".join(lines))
    assert values_of(read) == written


def test_of_two_values_the_last_counts_and_it_is_said(tmp_path: Path) -> None:
    read = properties_of(tmp_path, "a=1\nb=2\na=3\n")
    assert values_of(read) == {"a": "3", "b": "2"}
    (notice,) = read.notices
    assert notice.text == "server.properties: a appears twice: line 3 counts, not line 1"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# nothing\n", "has no property"),
        ("a=1\nb=\\u00g1\n", ":2: \\u needs four hexadecimal digits"),
        ("\0b\0r\0o\0k\0e\0r", "has zero bytes: it must be text"),
        (f"{'a' * 300}=1", ":1: a name has more than 249 characters"),
    ],
)
def test_what_java_refuses_is_refused(tmp_path: Path, text: str, expected: str) -> None:
    with pytest.raises(InputError) as refused:
        properties_of(tmp_path, text)
    assert expected in str(refused.value)


def test_what_all_files_say_is_the_clusters_and_what_differs_a_brokers_own(tmp_path: Path) -> None:
    read = settings_of(
        tmp_path,
        "broker.id=1\nnum.io.threads=8\nmin.insync.replicas=2\nbroker.rack=a\n",
        "node.id=2\nnum.io.threads=4\nmin.insync.replicas=2\nlog.retention.hours=1\n",
    )
    assert read.common == {"min.insync.replicas": 2}
    assert read.own == {
        1: {"num.io.threads": 8},
        2: {"num.io.threads": 4, "log.retention.hours": 1},
    }
    assert read.racks == {"a": [1], "default": [2, 3]}
    assert "no file is of brokers 3" in told(read)
    assert "no file has broker.rack for these brokers: 2, 3" in told(read)


def test_values_are_numbers_and_flags_where_that_loses_nothing(tmp_path: Path) -> None:
    read = settings_of(
        tmp_path,
        "broker.id=1\nauto.leader.rebalance.enable=TRUE\nlog.retention.bytes=-1\n"
        "log.cleaner.min.cleanable.ratio=0.5\nlog.message.format.version=2.10\n"
        "queued.max.request.bytes=0001\n",
    )
    assert read.common == {
        "auto.leader.rebalance.enable": True,
        "log.retention.bytes": -1,
        "log.cleaner.min.cleanable.ratio": 0.5,
        "log.message.format.version": "2.10",
        "queued.max.request.bytes": "0001",
    }


def test_secrets_and_hosts_do_not_get_into_a_scenario(tmp_path: Path) -> None:
    read = settings_of(
        tmp_path,
        "broker.id=1\nssl.keystore.password=hunter2\nlisteners=PLAINTEXT://kafka:9092\n"
        "listener.name.sasl.scram.sasl.jaas.config=hunter2\nssl.keystore.type=JKS\n",
    )
    assert read.common == {"ssl.keystore.type": "JKS"}
    assert "could contain secrets: listener.name.sasl.scram.sasl.jaas.config, ssl.key" in told(read)
    assert "hunter2" not in told(read)


def test_secrets_of_plug_ins_do_not_either(tmp_path: Path) -> None:
    read = settings_of(
        tmp_path,
        "broker.id=1\nconfluent.basic.auth.user.info=me:hunter2\n"
        "rsm.config.storage.azure.connection.string=AccountKey=hunter2\n"
        "confluent.schema.registry.url=http://me:hunter2@registry:8081\nmy.url=http://a:1/b\n",
    )
    assert read.common == {"my.url": "http://a:1/b"}
    assert "hunter2" not in told(read)


def test_a_rack_that_is_filled_in_later_is_not_known(tmp_path: Path) -> None:
    """As Strimzi writes it; all brokers would stand in one rack of that name."""
    read = settings_of(
        tmp_path, "broker.id=1\nbroker.rack=${STRIMZI_RACK_ID}\n", "broker.id=2\nbroker.rack=b\n"
    )
    assert read.racks == {"default": [1, 3], "b": [2]}
    assert "0.properties: broker.rack is ${STRIMZI_RACK_ID}, to be filled in" in told(read)


def test_a_setting_that_the_release_does_not_have_is_left_out(tmp_path: Path) -> None:
    read = settings_of(tmp_path, "broker.id=1\nacks=all\nunheard.of=1\n")
    assert read.common == {"unheard.of": 1}
    assert "left out: acks on line 2 of 0.properties: is a setting of producers" in told(read)


def test_cordoned_log_directories_have_numbers(tmp_path: Path) -> None:
    """KIP-1066: a scenario names no paths; before 4.3 there is no such setting."""
    text = "node.id=1\nprocess.roles=broker\nlog.dirs=/a, /b,/c\ncordoned.log.dirs=/c,/b\n"
    files = files_of(tmp_path, text)
    read = cluster_settings(files, (1,), "4.4.0", KRAFT_MODE)
    assert (read.common, read.log_directories) == ({"cordoned.log.dirs": "3,2"}, 3)
    older = cluster_settings(files, (1,), "4.2.0", KRAFT_MODE)
    assert older.common == {}
    assert "release 4.2.0 does not have them yet: cordoned.log.dirs" in told(older)
    with pytest.raises(InputError, match=r"4: cordoned\.log\.dirs: /d is not in log\.dirs"):
        cluster_settings(files_of(tmp_path, text.replace("=/c", "=/d")), (1,), "4.4.0", KRAFT_MODE)


def test_a_value_that_kafka_would_not_take_is_named_with_its_line(tmp_path: Path) -> None:
    with pytest.raises(InputError) as refused:
        settings_of(tmp_path, "broker.id=1\nmin.insync.replicas=two\n")
    assert str(refused.value) == (
        f"{tmp_path / '0.properties'}:2: min.insync.replicas: must be a whole number, not two"
    )


def test_a_file_that_names_no_broker_is_about_all_of_them(tmp_path: Path) -> None:
    read = settings_of(tmp_path, "broker.id=-1\nbroker.rack=a\nlog.dirs=/1,/2\n")
    assert read.racks == {"a": [1, 2, 3]}
    assert read.log_directories == 2
    assert read.own == {}
    assert "names no broker" in told(files_of(tmp_path, "broker.id=-1"))


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("broker.id=1", "broker.id=1", "is of broker 1, as is"),
        ("broker.id=1", "num.io.threads=1", "names no broker (broker.id or node.id)"),
        ("broker.id=1", "broker.id=one", "1.properties:1: broker.id must be a broker's id"),
        ("broker.id=1", "node.id=2\nbroker.id=3", "1.properties:2: node.id is 2, and broker.id is"),
    ],
)
def test_it_must_be_clear_whose_a_file_is(
    tmp_path: Path, first: str, second: str, expected: str
) -> None:
    with pytest.raises(InputError) as refused:
        files_of(tmp_path, first, second)
    assert expected in str(refused.value)


def test_the_real_files_differ_in_their_racks_alone() -> None:
    files = [
        read_server_properties(REAL_INPUT / f"kafka-2.6.3-server-{broker}.properties")
        for broker in (101, 103)
    ]
    read = cluster_settings(broker_files(files), range(101, 107), RELEASE, ZOOKEEPER_MODE)
    assert read.racks == {
        "use1-az1": [101],
        "default": [102, 104, 105, 106],
        "use1-az4": [103],
    }
    assert read.own == {}
    assert read.common["replica.lag.time.max.ms"] == 30_000
