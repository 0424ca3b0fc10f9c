"""The jars of two releases of Kafka: what Tidegauge cites, what is set, what is logged."""

from __future__ import annotations

import struct
from pathlib import Path
from zipfile import ZipFile

import pytest

from tidegauge.compiled.errors import TidegaugeError
from tidegauge.laboratory.release_changes import changes_between, cited_classes

CITED = {"Partition": ["replication/partition.py"], "Replica": ["replication/remote_replica.py"]}
LONG = struct.pack(">BQ", 5, 1)


def class_file(*constants: str, rest: bytes = b"") -> bytes:
    """A class file up to its constant pool: a long, then each constant with its text."""
    pool = LONG
    for place, text in enumerate(constants):
        encoded = text.encode()
        # The long has the numbers 1 and 2.
        pool += struct.pack(">BH", 1, len(encoded)) + encoded
        pool += struct.pack(">BH", 8, 3 + 2 * place)
    return b"\xca\xfe\xba\xbe\0\0\0\x41" + struct.pack(">H", 3 + 2 * len(constants)) + pool + rest


def release(folder: Path, classes: dict[str, bytes]) -> Path:
    folder.mkdir()
    with ZipFile(folder / "kafka.jar", "w") as jar:
        for name, content in classes.items():
            jar.writestr(f"{name}.class", content)
    return folder


def test_a_cited_class_a_setting_and_a_log_text_that_changed_are_listed(tmp_path: Path) -> None:
    """KIP-1219 brought a setting; KAFKA-18723 changed a class; a text of 4.3 has more in it."""
    config, log = "org/apache/kafka/raft/QuorumConfig", "org/apache/kafka/controller/Replication"
    old = {
        "kafka/cluster/Partition": class_file("makeLeader"),
        "kafka/cluster/Partition$Pending": class_file("pending"),
        "kafka/cluster/Replica": class_file("same"),
        "kafka/cluster/Uncited": class_file("one"),
        config: class_file("controller.quorum.voters", "Some documentation of a setting."),
        log: class_file("Replayed partition assignment change {} for topic {}", "Other text"),
    }
    new = old | {
        "kafka/cluster/Partition$Pending": class_file("pending", rest=b"code"),
        "kafka/cluster/Uncited": class_file("two"),
        config: class_file("controller.quorum.voters", "controller.quorum.fetch.max.bytes"),
        log: class_file("Replayed partition assignment change {} for topic {}. (isr: {})"),
    }
    folders = release(tmp_path / "4.2.2", old), release(tmp_path / "4.3.0", new)
    found = changes_between(*folders, CITED)
    assert found.classes == {"Partition": ["replication/partition.py"]}
    assert found.settings == {"controller.quorum.fetch.max.bytes": True}
    assert found.log_texts == {
        "Replayed partition assignment change {} for topic {}": False,
        "Replayed partition assignment change {} for topic {}. (isr: {})": True,
    }
    assert "  + controller.quorum.fetch.max.bytes" in list(found.lines())
    assert changes_between(folders[0], folders[0], CITED) == ({}, {}, {})


def test_the_classes_that_rules_cite_are_found_in_the_sources() -> None:
    found = cited_classes()
    assert "replication/in_sync_replicas.py" in found["Partition"]
    assert "replication/release_versions.py" in found["MetadataVersion"]


def test_a_folder_without_kafka_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TidegaugeError, match="has no jar with classes of Kafka"):
        changes_between(tmp_path, tmp_path, CITED)
    (tmp_path / "torn.jar").write_bytes(b"PK")
    with pytest.raises(TidegaugeError, match=r"torn\.jar: cannot be read"):
        changes_between(tmp_path, tmp_path, CITED)
