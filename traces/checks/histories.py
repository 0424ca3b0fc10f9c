"""The memory of checks: the leader of each epoch and its log, and the promises.

A leader's log is known when its term begins (rows ``log_end`` with the reason "leader", before
``became_leader``), and behind that it holds records of its own epoch only. So a *term* says of
each record that it ever exposes or acknowledges which one it is: (leader epoch, offset).
"""

from tidegauge.compiled.records import Record, Records, flag, i32, i64
from tidegauge.compiled.rules import Tables, code
from tidegauge.replication.records import EpochEntry

# Why a break is permitted: a setting or the release gives the promise up. The first one counts.
NOTHING_PERMITS = code(0)
BY_UNCLEAN_ELECTION = code(1)
BY_LOSS_OF_POWER = code(2)
BY_DIVERGING_RESPONSE = code(3)
BY_FENCED_LAST_KNOWN_LEADER = code(4)
BY_LAST_KNOWN_LEADER = code(5)
BY_REQUESTED_ELECTION = code(6)
BY_FORGOTTEN_EXPANSION = code(7)
BY_REGISTRATION = code(8)
BY_EARLIER_ISR = code(9)
BY_LATE_REMOVAL = code(10)
BY_REMOVED_LEADER = code(11)
BY_FOLLOWING_OBSERVER = code(12)
BY_LOST_DISKS = code(13)

#: ... in words, with the setting, or Kafka's issue and the releases that have it.
PERMITS = {
    1: "unclean election (unclean.leader.election.enable)",
    2: "loss of power before a flush (log.flush.interval.messages)",
    3: "the release (KAFKA-14704, from 2.8.0 to 3.4.0)",
    4: "the release (KAFKA-19522, 4.0)",
    5: "election of the last known leader (KIP-966)",
    6: "unclean election by request (kafka-leader-election.sh --election-type unclean)",
    7: "the release (KRaft: a leader forgets a pending ISR expansion)",
    8: "the release (KAFKA-18106, up to 3.9: a broker registers while it is in ISRs)",
    9: "the release (KRaft: a leader starts again, and leads by an earlier ISR)",
    10: "the release (KIP-853: a leader whose removal was not committed in time leads on)",
    11: "the release (KIP-853: the newest log is that of a leader that has removed itself)",
    12: "the release (KIP-996: a voter that does not know that it is one refuses pre-votes)",
    13: "the loss of the disks of a majority of a quorum's voters (KIP-853)",
}


class LogRuns(Record):
    """A log's content: where its epoch runs lie in ``Histories.runs``, and where it ends."""

    first: i64
    count: i64
    end_offset: i64


class RowPlace(Record):
    """The place of a row in the total order, and its subject."""

    time_us: i64
    process: i64
    sequence: i64
    partition: i64


class LeaderTerm(Record):
    """A broker has begun to lead a partition, in one epoch; once more if it has restarted."""

    #: The row ``became_leader``.
    began: RowPlace
    #: The log that it began with, and then its own epoch's run, whose end is not known yet:
    #: ``end_offset`` is where the term began.
    log: LogRuns
    epoch: i64
    #: The highest high watermark that it is known to have had.
    exposed: i64
    #: The term of the same partition before it, whichever broker led it; -1 none.
    previous: i64


class PartitionHistory(Record):
    """One partition, by the rows of the control plane and its terms so far."""

    # The state that the control plane holds.
    #: Index of the leader's broker; -1 none. The ISR is a list of slots.
    leader: i64 = -1
    leader_epoch: i32
    isr: i64
    #: With KRaft: the eligible leader replicas, slots too; index of the last known leader; -1 none.
    elr: i64
    last_known_leader: i32 = -1
    #: That state was written while eligible leader replicas were off.
    is_without_elr: flag
    partition_epoch: i32 = -1
    #: The highest leader epoch that it ever had.
    newest_epoch: i32 = -1
    #: The replicas' common committed log, as far as any high watermark has ever reached.
    committed: LogRuns
    #: The most runs that fit.
    committed_room: i32
    #: The log of the leader as it is written down when the run ends.
    last: LogRuns
    #: The last term that began, and the one with the newest epoch; -1 none.
    last_term: i32 = -1
    newest_term: i32 = -1
    #: The term that has exposed most, up to which offset; -1 none has exposed anything.
    exposed_term: i32 = -1
    exposed_end: i64
    #: First and last of the acknowledged offsets: a list.
    first_acknowledged: i32 = -1
    last_acknowledged: i32 = -1
    exists: flag
    #: Its topic is being deleted, or was.
    deleted: flag
    #: Its topic was deleted, and created again.
    created_again: flag
    #: The reason why a leader could be chosen from outside of ISR and ELR, one of the above; 0: it
    #: was not.
    unclean: i32
    #: The topic's unclean.leader.election.enable.
    unclean_enabled: flag
    #: A loss of power took records of a replica.
    lost_power: flag
    #: A leader has forgotten an expansion of the ISR that it had asked for.
    forgot_expansion: flag
    #: A process of its leader has started again, and leads by an earlier ISR.
    led_by_earlier_isr: flag
    #: Below this offset retention has deleted records.
    kept_from: i64
    #: The number of its acknowledged records that are not in the leader's log at the end.
    records_lost: i64


class Acknowledged(Record):
    """A range of offsets of one epoch that was acknowledged with the same acks."""

    epoch: i64
    acks: i64
    first_offset: i64
    end_offset: i64
    next: i64


class ReportedLog(Record):
    """The log of a replica in the following rows ``log_end``: one record."""

    log: LogRuns
    row: RowPlace
    reason: i64
    high_watermark: i64
    #: There is one.
    open: flag


class Finding(Record):
    """The findings of one check, over all partitions."""

    #: The number of partitions in which it was broken without permission, and by a setting.
    broken: i64
    permitted: i64
    #: The first event that broke it, and the first one that a setting permits.
    first: RowPlace
    first_permitted: RowPlace
    #: ... and which setting.
    permitted_by: i64


class Breach(Record):
    """Whether a check was broken in one partition."""

    broken: flag
    permitted: flag


class RegisteredBroker(Record):
    """A broker as the control plane sees it."""

    #: It can lead: it is registered, and not fenced.
    registered: flag
    #: With KRaft: it is fenced, and so since it has registered.
    is_fenced: flag
    is_fenced_anew: flag


class HistoryFacts(Record):
    """The used part of the tables, and the counts: one record."""

    #: Used: of ``runs``, ``terms``, ``acknowledged``.
    runs: i64
    terms: i64
    acknowledged: i64
    #: The most runs that any log has had.
    longest_log: i64
    # The counts of ``acknowledged_records_lost`` at the end of the run.
    records_lost: i64
    records_lost_permitted: i64
    records_unavailable: i64

    #: With KRaft: the partition whose record is being read row by row; -1: none.
    told_partition: i64 = -1
    #: The last committed batch that fences brokers, if ISRs have still to be checked.
    fenced_us: i64 = -1
    #: The control plane is a quorum, and partitions have eligible leader replicas now.
    has_quorum: flag
    has_elr: flag
    #: ... and in some controller's release a last known leader is elected although it is fenced.
    elects_fenced: flag
    #: ... and a broker stays in ISRs when another process of it registers.
    registers_in_isrs: flag


class ReplicaSlot(Record):
    """The broker in a slot of a partition's table of brokers, and its replica's state."""

    broker: i32
    #: It has a log, and this is the log of a topic that was deleted and created again since.
    has_log: flag
    is_stale: flag
    # A diverging response has raised its high watermark (KAFKA-14704): from here to there no other
    # row shows that its records are committed. Equal: it is not misled.
    misled_from: i64
    misled_to: i64
    #: The row ``diverging_high_watermark``.
    misled: RowPlace


class PartitionPlace(Record):
    """The topic of a partition, and the places of its slots."""

    topic: i32
    first_slot: i32
    slot_count: i32


class QuorumHistory(Record):
    """The history that all controllers of a quorum share: one record."""

    #: The number of known epochs, and the most of any controller's log.
    epochs: i64
    longest_log: i64
    #: The number of the first controller as rows name it.
    first_controller: i64
    #: Faults that act, counted for each process that they hit; when one has begun or ended last.
    active_faults: i64
    changed_us: i64
    #: The time of the last progress of the committed end.
    progress_us: i64
    #: The active controller writes a record again and again, whatever happens.
    writes_no_ops: flag
    #: Its voters may change (KIP-853): voters have directories.
    voters_may_change: flag
    #: Voters are asked in advance whether they would vote (KIP-996).
    has_pre_vote: flag
    #: The voters that were committed last: the offset of their record (-1: a directory was
    #: formatted with them), and the epoch of the leader that committed it.
    committed_voters: i64
    committed_voters_offset: i64 = -1
    committed_voters_epoch: i64
    #: The process of the first controller.
    first_process: i64


class QuorumEpoch(Record):
    """An epoch of the quorum."""

    epoch: i64
    #: Its leader, as rows name it; -1: unknown.
    leader: i64 = -1
    #: The start of its records in a log, and the epoch before it there; -1: nothing is known.
    start_offset: i64 = -1
    previous_epoch: i64 = -1
    #: The offset below which its leader has committed the log; 0: it has committed nothing.
    committed_end: i64
    #: Four bits for each controller: the number of the one that it voted for, counted from 1 on,
    #: and the number of the directory with which it did.
    votes: i64
    directories_of_votes: i64


class MetadataLog(Record):
    """A controller's log, or the committed records: ``Histories.metadata_runs`` has its epochs."""

    end_offset: i64
    runs: i64
    #: The controller has reported it.
    is_told: flag


class ControllerHistory(Record):
    """A controller of a quorum, by its rows: the voters that its log names, and its own directory.

    Voters are those of ``replication/voter_set.py``.
    """

    #: The voters in force on it, and the offset of their record; -1: its directory was formatted
    #: with them.
    voters: i64
    voters_offset: i64 = -1
    directory: i64 = 1
    #: It does not run; it follows a leader.
    is_stopped: flag
    follows: flag
    #: It leads; what it has committed since its own removal as a voter was; -1: it was not removed.
    leads: flag
    commits_since_removal: i64 = -1
    #: ... and it has answered that its removal was not committed in time.
    was_removed_late: flag


class FaultNature(Record):
    """A fault of the scenario."""

    #: It is over as soon as it has begun, without a row about it.
    is_over_at_once: flag
    #: Controllers have empty disks from then on: each has a new directory.
    takes_disks: flag


class Histories(Tables):
    """All that checks remember."""

    facts: Records[HistoryFacts]
    partitions: Records[PartitionHistory]
    places: Records[PartitionPlace]
    slots: Records[ReplicaSlot]
    brokers: Records[RegisteredBroker]
    runs: Records[EpochEntry]
    terms: Records[LeaderTerm]
    acknowledged: Records[Acknowledged]
    snapshot: Records[ReportedLog]
    #: With KRaft: the row of the state of the partition whose record is being read: one record.
    told: Records[RowPlace]
    #: The row that has fenced each broker last.
    fenced: Records[RowPlace]
    #: The row that is being judged: one record.
    place: Records[RowPlace]
    # With KRaft.
    quorum: Records[QuorumHistory]
    quorum_epochs: Records[QuorumEpoch]
    #: A log for each controller, and for the committed records; with as many runs each.
    metadata_logs: Records[MetadataLog]
    metadata_runs: Records[EpochEntry]
    controllers: Records[ControllerHistory]
    faults: Records[FaultNature]
    #: One for each check (``CHECKS``).
    findings: Records[Finding]
    #: At ``check * partitions + partition``.
    breaches: Records[Breach]
