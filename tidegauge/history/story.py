"""Rows of the trace in words, for operators of Kafka.

:data:`WORDS` has one sentence for each kind of row. Columns are in braces, and :data:`SPOKEN`
has the words for a column: a broker by its id, an ISR as broker ids, an error by Kafka's name. The
noun of a count follows a colon. So a new kind of row needs one line here.

The names come from the run's manifest, which lists the names for the numbers in rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from string import Formatter
from typing import Any, NamedTuple, Self

from tidegauge.history.znode_paths import ZnodePaths
from tidegauge.replication import replica_list
from tidegauge.scenario.text.counted import counted, plural
from tidegauge.simulation.durations import time_text
from tidegauge.simulation.enumerations import ENUMERATIONS, Enumerations
from tidegauge.simulation.row_kinds import FORMER_WRITER, UNSEEN
from tidegauge.traces.run_folder import RunFolder, TraceRow

# fmt: off
WORDS: dict[str, str] = {
    "fault_began": "{fault} begins",
    "fault_ended": "{fault} ends",
    "broker_started": "{broker} starts",
    "broker_loading":
        "{broker} begins: {clean}, {logs:log} to load until {until_us}, "
        "{records_to_recover:record} to read again",
    "checkpoint_read":
        "finds on disk: high watermark {high_watermark}, recovery point {recovery_point}, "
        "log end offset {log_end_offset}, {epoch_count:leader epoch}",
    "log_lost": "its log loses what was not on disk: from {old_end_offset} to {end_offset}",
    "broker_stopped": "{broker} is gone: {stop}",
    "log_dir_failed": "cannot write to log directory {directory}",
    "replica_offline": "its replica is offline with log directory {directory}",
    "controlled_shutdown_sent":
        "asks {to_process} to move its leaders away, attempt {attempt}",
    "controlled_shutdown_answered":
        "gets the response to attempt {attempt}: {error}, {remaining:partition} still led here",
    "log_deleted": "deletes its log, with records to before {log_end_offset}",
    "throttles_applied":
        "throttles replication: {leader_replicas:replica} that it leads to {leader_rate_bytes}, "
        "{follower_replicas} that it follows to {follower_rate_bytes}",
    "replica_stopped": "stops fetching in epoch {leader_epoch}, as StopReplica requests",
    "epoch_answered":
        "responds to {to_process}, which asks for epoch {asked_epoch}: epoch {epoch} ends at "
        "{end_offset}: {error}",
    "epoch_assigned":
        "its leader epochs: entry {position} is epoch {epoch} from {start_offset} on",
    "epochs_cut": "its leader epochs: only the first {epoch_count} are left",
    "became_leader":
        "{is_new_leader} in epoch {leader_epoch}: ISR {isr}, log end offset {log_end_offset}, "
        "high watermark {high_watermark}",
    "became_follower":
        "follows {leader} in epoch {leader_epoch}: log end offset {log_end_offset}, "
        "high watermark {high_watermark}",
    "isr_update_sent":
        "asks to change the ISR from {old_isr} to {isr}, if its version is {version}",
    "isr_shrunk":
        "shrinks the ISR from {old_isr} to {isr}: not caught up for {lag_ms}, "
        "log end offset {log_end_offset}",
    "isr_expanded": "expands the ISR from {old_isr} to {isr}, log end offset {log_end_offset}",
    "isr_update_failed": "the ISR {isr} is refused at version {version}: {error}",
    "alter_partition_sent":
        "sends {to_process} AlterPartition {request} about {partition_count:partition}",
    "alter_partition_failed": "AlterPartition {request} to {from_process} has failed: {error}",
    "exposed": "consumers could read to before {high_watermark} in epoch {leader_epoch} ({reason})",
    "acknowledged":
        "acknowledged with acks={acks}: offsets {first_offset} to before {end_offset} "
        "in epoch {leader_epoch} ({reason})",
    "diverging_high_watermark":
        "takes the high watermark {high_watermark}, before {old_high_watermark}, from a response "
        "of {leader} that has it truncate to {diverging_end_offset} (KAFKA-14704)",
    "truncated":
        "truncates its log from {old_end_offset} to {end_offset} in epoch {leader_epoch}, "
        "high watermark {high_watermark}",
    "log_end":
        "its log has offsets {start_offset} to before {end_offset} of epoch {epoch} ({reason})",
    "request_refused": "refuses {api_key} of {from_process}: {error} (offset {offset})",
    "notification_sent":
        "writes an isr_change_notification about {partition_count:partition}, "
        "{quiet_ms} after its last ISR change, {since_propagation_ms} after its last notification",
    "partition_failed":
        "gives up the partition in epoch {leader_epoch}, until the next LeaderAndIsr",
    "session_opened": "opens session {session} of {broker}, timeout {timeout_ms}",
    "session_expired": "expires session {session} of {broker}, silent for {silent_us}",
    "session_closed": "closes session {session} of {broker}, as requested",
    "znode_created": "{znode} is created by {writer}",
    "znode_set": "{znode} is written by {writer}: version {version}",
    "znode_deleted": "{znode} is deleted by {writer}",
    "partition_replicas":
        "the assignment is {replicas} now; {adding} are being added, {removing} removed",
    "partition_state":
        "the state is {change} by {writer}: leader {leader}, epoch {leader_epoch}, ISR {isr}, "
        "partition epoch {partition_epoch}",
    "broker_state": "takes {broker} for {state}: {state_reason}",
    "controller_active": "active controller: {broker}, controller epoch {controller_epoch}",
    "topic_configured":
        "{topic} now has min.insync.replicas={min_insync_replicas}, unclean election "
        "{unclean_enabled}",
    "controller_elected": "{broker} becomes controller, controller epoch {controller_epoch}",
    "controller_event":
        "takes event {event_kind} from its queue after {queued_us}, {queue_length} in the queue",
    "broker_failed": "sees that {broker} is gone",
    "broker_registered": "sees that {broker} has registered",
    "leader_elected":
        "leader is now {leader}, before {old_leader}: {unclean} election, epoch {leader_epoch}, "
        "ISR {isr}",
    "removed_from_isr":
        "takes {replica} out of the ISR, now {isr}: leader {leader}, epoch {leader_epoch}",
    "isr_altered":
        "gets a request of {leader}, epoch {leader_epoch}, for the ISR {isr}, now version "
        "{version}: {error}",
    "leader_epoch_raised":
        "raises the leader epoch of {leader} to {leader_epoch}, ISR {isr}: the replicas are "
        "{replicas}",
    "reassignment_begun":
        "moves replicas, now {replicas}: {adding} are added, {removing} will be removed",
    "reassignment_done": "has moved the replicas: they are {replicas}",
    "topic_deletion_begun": "begins to delete {topic}",
    "topic_deleted": "has deleted {topic}",
    "notification_read":
        "reads isr_change_notification {notification} about {partition_count:partition}",
    "log_dir_event_read": "reads that a log directory of {broker} has failed",
    "replica_found_offline": "learns that the replica of {replica} is offline",
    "controller_resigned": "{broker} is no longer controller, controller epoch {controller_epoch}",
    "controller_event_done": "is done with event {event_kind} after {processing_us}",
    "broker_shuts_down":
        "has moved leaders away from {broker}, which still leads {remaining:partition}",
    "batch_failed":
        "producer gives up batch {batch} of {records:record} after {attempts:attempt}: "
        "{error}",
    "step_taken": "step {step} of the scenario is taken",
    "step_timed_out": "the condition of step {step} was not met in time",
    "roll_progress":
        "{fault}: {progress} ({broker_count:broker}, from {broker} on); {unregistered} "
        "unregistered, {under_replicated:partition} under-replicated",
    "step_answered":
        "step {step} ends with {error} ({from_process}), offset {offset}, "
        "end offset {end_offset}, epoch {epoch}",
    "step_unanswered": "step {step} gets no response from {from_process}: {error}",
    "observed":
        "has a log to before {log_end_offset}, high watermark {high_watermark}, in its "
        "checkpoint {checkpointed}; recovery point {recovery_point}, {epoch_count:leader epoch}, "
        "at step {step}",
    "high_watermark_told":
        "has high watermark {high_watermark}, which step {step} has requested",
    "epoch_observed": "has leader epoch {epoch} from {start_offset} on, at step {step}",
    "batch_duplicated":
        "batch {batch} of {records:record} is in the log twice: at offset {first_offset} and, "
        "by a retry, at {again_offset}",
    "consumer_reset": "consumer's offset {offset} is out of range, it resumes at {new_offset}",
    "coordinator_loading":
        "leads in epoch {leader_epoch}, and reads committed offsets of groups, to before "
        "{log_end_offset}, until {until_us}",
    "coordinator_loaded":
        "has read {offset_count:committed offset} and {member_count:member} to before "
        "{log_end_offset}, and coordinates their groups",
    "coordinator_unloaded": "no longer coordinates groups, in epoch {leader_epoch}",
    "member_joined": "takes {from_process} into its group",
    "member_expired":
        "takes {from_process} out of its group, silent for {silent_us}",
    "coordinator_found": "finds its group's coordinator: {broker}, after {missing_us} without one",
    "coordinator_lost": "has lost its group's coordinator, {broker}: {error}",
    "consumer_resumed":
        "resumes at {new_offset}: committed is {committed_offset}, it was at {offset}",
    "commits_fail": "cannot commit offsets: {error} of {broker}",
    "commits_succeed_again":
        "can commit offsets again, after {failures:failure} in {failing_us}",
    "client_totals":
        "records acknowledged {records_acknowledged}, failed {records_failed}, "
        "duplicated {records_duplicated}, consumed {records_consumed}",
    "broker_sampled":
        "hosts {partitions} and leads {leaders}: {under_replicated} under-replicated, "
        "{under_min_isr} under min ISR, {at_min_isr} at min ISR, {reassigning} being reassigned",
    "consumer_sampled":
        "reads at {offset}, has committed {committed_offset}, high watermark {high_watermark}",
    "offset_committed": "has committed {committed_offset}",
    "sampled":
        "{leads}: log end offset {log_end_offset}, high watermark {high_watermark}",
    "appended":
        "{leads}: appends offsets {base_offset} to before {end_offset} of epoch {epoch}, "
        "high watermark {high_watermark}",
    "fetch_counted":
        "{replica} fetches at {fetch_offset}, before {old_offset}: log end offset "
        "{log_end_offset}, high watermark {high_watermark}",
    "fetch_answered":
        "responds to the fetch of {to_process} at {fetch_offset} with records to before "
        "{end_offset}, high watermark {high_watermark}, {waited}: {error}",
    "high_watermark_moved":
        "{leads}: high watermark from {old_high_watermark} to {high_watermark} ({moment})",
    "produce_answered":
        "responds to {to_process}, acks={acks}: offsets {base_offset} to before {end_offset}: "
        "{error}",
    "consumed":
        "consumer has read offsets {fetch_offset} to before {end_offset}, "
        "high watermark {high_watermark}: {error}",
    "checkpoint_written": "writes {checkpoint}, {partition_count:partition}",
    "message":
        "gets {message_kind} of {from_process}: {error} (offset {offset})",
}
# fmt: on


class Names:
    """The names in a run's manifest for the numbers in rows."""

    def __init__(
        self, manifest: Mapping[str, Any], enumerations: Enumerations = ENUMERATIONS
    ) -> None:
        """Read the names in a manifest (``traces/run_folder.py`` describes it).

        Args:
            manifest: the run's.
            enumerations: the names in the headers of its trace files; by default this release's.
        """
        self.enumerations = enumerations
        self._processes = {
            process["process"]: str(process["name"]) for process in manifest["processes"]
        }
        self._brokers: list[int] = list(manifest["brokers"])
        self._partitions = list(manifest["partitions"])
        self._faults = list(manifest["faults"])
        self.znodes = ZnodePaths(manifest)
        self.partitions: dict[str, int] = {
            f"{partition['topic']}-{partition['partition']}": number
            for number, partition in enumerate(self._partitions)
        }
        brokers = {f"broker {broker}": index for index, broker in enumerate(self._brokers)}
        self._broker_of_process = {
            process: brokers[name] for process, name in self._processes.items() if name in brokers
        }

    @classmethod
    def of(cls, run: RunFolder) -> Self:
        """The names of a run.

        Raises:
            TraceError: a trace file is damaged.
        """
        return cls(run.manifest, run.enumerations)

    def enumerated(self, column: str, number: int) -> str:
        """The name of a number in a column of an enumeration; the number if it has none."""
        return self.enumerations[column].get(number, str(number))

    def process(self, number: int) -> str:
        """Name of a process."""
        return self._processes.get(number, f"process {number}")

    def broker_of_process(self, process: int) -> int:
        """Index of the broker of a process; -1 if the process is not a broker."""
        return self._broker_of_process.get(process, -1)

    def process_of_broker(self, broker: int) -> int:
        """The process of the broker with this id; -1 if there is none."""
        processes = (
            process
            for process, index in self._broker_of_process.items()
            if self._brokers[index] == broker
        )
        return next(processes, -1)

    def broker_id(self, index: int) -> int | None:
        """Id of the broker with this index within the cluster; None for no broker."""
        return self._brokers[index] if 0 <= index < len(self._brokers) else None

    def topic_and_partition(self, number: int) -> tuple[str, int]:
        """Name of the topic, and the partition's number within it."""
        partition = self._partitions[number]
        return partition["topic"], partition["partition"]

    def partition(self, number: int) -> str:
        """Name of a partition, such as ``orders-0``."""
        if not 0 <= number < len(self._partitions):
            return "no partition"
        return "{}-{}".format(*self.topic_and_partition(number))

    def replicas(self, partition: int) -> list[int]:
        """Ids of the brokers of a new partition, the preferred leader first."""
        return list(self._partitions[partition]["replicas"])

    def slots(self, partition: int) -> list[int]:
        """Ids of the brokers in a partition's slots: all that ever have a replica of it."""
        # Runs of an older Tidegauge do not move replicas.
        planned = self._partitions[partition]
        return list(planned.get("slots", planned["replicas"]))

    def brokers_in(self, replicas: int, partition: int) -> list[int | None]:
        """Ids of the brokers in a replica list; None for a slot without one."""
        brokers = dict(enumerate(self.slots(partition)))
        return [brokers.get(slot) for slot in replica_list.unpack(replicas)]

    def fault(self, number: int) -> str:
        """Kind and name of a fault, such as ``cut_link 'cut-1'``."""
        if not 0 <= number < len(self._faults):
            return f"fault {number}"
        return "{kind} {name!r}".format_map(self._faults[number])

    def fault_name(self, number: int) -> str:
        """The name of a fault alone."""
        return str(self._faults[number]["name"])

    def fault_kind(self, number: int) -> str:
        """The kind of a fault alone."""
        return str(self._faults[number]["kind"])

    def fault_short(self, number: int) -> str:
        """Name and targets of a fault, in short form: ``cut-1: cut_link 1 <-> 3``."""
        text = self._faults[number].get("text") or self.fault_kind(number)
        return f"{self.fault_name(number)}: {text}"

    def fault_text(self, number: int) -> str:
        """Kind and name of a fault, with its text in the scenario."""
        text = self._faults[number].get("text") if 0 <= number < len(self._faults) else ""
        return f"{self.fault(number)} ({text})" if text else self.fault(number)


def _broker(names: Names, _row: TraceRow, index: int) -> str:
    broker = names.broker_id(index)
    return "none" if broker is None else f"broker {broker}"


def _brokers(names: Names, row: TraceRow, replicas: int) -> str:
    brokers = names.brokers_in(replicas, row["partition"])
    return f"[{','.join('?' if broker is None else str(broker) for broker in brokers)}]"


def _process(names: Names, _row: TraceRow, process: int) -> str:
    return "no process" if process < 0 else names.process(process)


def _writer(names: Names, row: TraceRow, index: int) -> str:
    """The writer of a znode: a broker by its index, or another writer without one."""
    if index >= 0:
        return _broker(names, row, index)
    if index == FORMER_WRITER:
        return "a process before the run"
    return "the end of its session" if row.kind == "znode_deleted" else "the operator"


def _topic(names: Names, _row: TraceRow, number: int) -> str:
    topics = names.znodes.topics
    return f"topic {topics[number] if 0 <= number < len(topics) else number}"


def _znode(names: Names, row: TraceRow, znode: int) -> str:
    return names.znodes.path(znode, row.columns.get("sequence_number"))


def _high_watermark(_names: Names, row: TraceRow, offset: int) -> str:
    if row.kind == "observed" and offset in UNSEEN:
        return f"unknown ({UNSEEN[offset]})"
    return str(offset)


def _rate(_names: Names, _row: TraceRow, size_bytes: int) -> str:
    return "any rate" if size_bytes < 0 else f"{size_bytes} bytes a second"


def _one_of(texts: Mapping[int, str]) -> Callable[[Names, TraceRow, int], str]:
    return lambda _names, _row, value: texts.get(value, str(value))


#: The words for a column, by its name. Others are times, by their unit, or plain numbers.
SPOKEN: dict[str, Callable[[Names, TraceRow, int], str]] = {
    **dict.fromkeys(("broker", "leader", "old_leader", "replica", "last_known_leader"), _broker),
    **dict.fromkeys(
        ("isr", "old_isr", "replicas", "adding", "removing", "eligible_leaders"), _brokers
    ),
    **dict.fromkeys(("from_process", "to_process"), _process),
    "writer": _writer,
    "znode": _znode,
    "fault": lambda names, _row, fault: names.fault_text(fault),
    "acks": _one_of({-1: "all"}),
    "directory": lambda _names, _row, directory: (
        str(directory + 1) if directory >= 0 else "unknown"
    ),
    "high_watermark": _high_watermark,
    "clean": _one_of({0: "not stopped cleanly before", 1: "stopped cleanly before"}),
    "is_new_leader": _one_of({0: "stays leader", 1: "becomes leader"}),
    "unclean": _one_of({0: "clean", 1: "UNCLEAN"}),
    "topic": _topic,
    "unclean_enabled": _one_of({0: "off", 1: "on"}),
    "leads": _one_of({0: "follower", 1: "leader"}),
    **dict.fromkeys(("leader_rate_bytes", "follower_rate_bytes"), _rate),
    "waited": _one_of({0: "at once", 1: "after a wait in the purgatory"}),
}


def columns_in(sentence: str) -> set[str]:
    """The columns in a sentence of :data:`WORDS`."""
    return {name for _, name, _, _ in Formatter().parse(sentence) if name}


def told(row: TraceRow, names: Names) -> str:
    """A row in words; time and process are not repeated."""
    sentence = WORDS.get(row.kind)
    if sentence is None:  # a kind that this release does not know
        return f"{row.kind} {row.columns}"
    words = {
        name: _Spoken(spoken(row, name, names), row.columns.get(name))
        for name in columns_in(sentence)
    }
    return sentence.format_map(words)


class _Spoken(NamedTuple):
    """A column in words; with a noun (``{logs:log}``) their number."""

    text: str
    #: None: the row is of an older schema, and has no such column.
    value: int | None

    def __format__(self, noun: str) -> str:
        if not noun:
            return self.text
        return f"? {plural(noun)}" if self.value is None else counted(self.value, noun)


def spoken(row: TraceRow, column: str, names: Names) -> str:
    """A column of a row in words; "?" for a column that the row's schema does not have."""
    value = row.columns.get(column)
    if value is None:  # an older schema
        return "?"
    if column in names.enumerations:
        return names.enumerated(column, value)
    if column in SPOKEN:
        return SPOKEN[column](names, row, value)
    if column.endswith("_us"):
        return time_text(value)
    return f"{value} ms" if column.endswith("_ms") else str(value)


def because(row: TraceRow, run: RunFolder, names: Names) -> str | None:
    """The reason of a row that was caused by a missing message, in words.

    Raises:
        TraceError: a trace file is damaged.
    """
    process, sequence = row["because_process"], row["because_sequence"]
    if process < 0:
        return None
    if sequence < 0:
        return f"no message of {names.process(process)} had arrived"
    reason = run.canonical_row(process, sequence)
    if reason is None:
        return f"row {sequence} of {names.process(process)}, which the trace does not have"
    at = time_text(reason["time_us"])
    if reason.kind in {"fault_began", "fault_ended"}:
        return f"{names.fault(reason['fault'])} {reason.kind.removeprefix('fault_')} at {at}"
    about = reason.columns.get("partition", -1)
    which = reason.kind if about < 0 else f"{reason.kind} of {names.partition(about)}"
    return f"the last event of {names.process(process)} was {which} at {at}"
