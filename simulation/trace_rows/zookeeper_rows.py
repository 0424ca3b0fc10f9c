"""Rows of ZooKeeper: sessions and znodes."""

from __future__ import annotations

from tidegauge.simulation.trace_rows import columns as column
from tidegauge.simulation.trace_rows.row import CanonicalRow


class SessionOpened(CanonicalRow, number=20):
    """ZooKeeper has opened a session of a broker."""

    STORY = "opens session {session} of {broker}, timeout {timeout_ms}"

    broker: column.Broker
    session: column.Session
    timeout_ms: column.TimeoutMs


class SessionExpired(CanonicalRow, number=21):
    """ZooKeeper has expired a session; silent_us is the time since the broker's last message."""

    STORY = "expires session {session} of {broker}, silent for {silent_us}"

    broker: column.Broker
    session: column.Session
    silent_us: column.SilentUs


class SessionClosed(CanonicalRow, number=26):
    """A broker has closed its session."""

    STORY = "closes session {session} of {broker}, as requested"

    broker: column.Broker
    session: column.Session


class ZnodeRow(CanonicalRow):
    """A znode changes."""

    znode: column.Znode
    writer: column.Writer


class ZnodeContent(ZnodeRow):
    """What a znode holds; of a partition its leader, epochs and ISR."""

    leader: column.LeaderSlot
    leader_epoch: column.LeaderEpoch
    controller_epoch: column.ControllerEpoch
    isr: column.Isr


class ZnodeCreated(ZnodeContent, number=22):
    """A znode was created, by writer; -1 is the operator, -2 a writer before the run."""

    STORY = "{znode} is created by {writer}"

    sequence_number: column.SequenceNumber


class ZnodeSet(ZnodeContent, number=23):
    """A znode was written."""

    STORY = "{znode} is written by {writer}: version {version}"

    version: column.Version


class ZnodeDeleted(ZnodeRow, number=24):
    """A znode was deleted, by writer, or (-1) with its session."""

    STORY = "{znode} is deleted by {writer}"
