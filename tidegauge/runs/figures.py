"""The figures that are compared: columns of ``control_plane_figures``, and the reasons behind each.

A lower figure is the better one. The reasons follow from the rules of both modes and the ranges
of their clocks; the published figures are of unknown conditions, and no target.
"""

from __future__ import annotations

from typing import NamedTuple

#: Columns of the table that are no figures to compare.
LABELS = frozenset({"run", "mode", "partitions", "first_fault_us"})


class Figure(NamedTuple):
    """A column of ``control_plane_figures``, in words."""

    name: str
    label: str
    #: What decides it with ZooKeeper, and with KRaft; empty: nothing of its own.
    zookeeper: str
    kraft: str
    #: Where KRaft is not better; empty: no such case is known.
    exception: str = ""
    #: Published figures of the same kind, of unknown conditions; empty: none.
    published: str = ""
    #: What decides it in either mode.
    either: str = ""


FIGURES = (
    Figure(
        "stalled_us",
        "Partitions stalled for producers, in all",
        "The session of a lost broker (18 s by default), or replica.lag.time.max.ms.",
        "The session of a lost broker (9 s by default), or replica.lag.time.max.ms.",
        either="How long batches wait: for a new leader, for a follower that is lost to leave the"
        " ISR, for one that is slow to catch up.",
    ),
    Figure(
        "longest_stall_us",
        "Longest stall of a partition",
        "",
        "",
        either="What decides all of them together.",
    ),
    Figure(
        "reads_stalled_us",
        "Partitions stalled for consumers, in all",
        "",
        "",
        either="Time without a leader that responds.",
    ),
    Figure(
        "leaderless_partitions",
        "Partitions that lost their leader",
        "",
        "",
        either="The leaders that the faults hit, and those that a controlled shutdown or a"
        " preferred election moves.",
    ),
    Figure(
        "leaderless_first_us",
        "Leaderless time, first partition",
        "The session (18 s by default), until a tick of ZooKeeper; then the first write. A leader"
        " that is moved in time costs one write and one request: milliseconds.",
        "The session (9 s by default), until the controller's next check; then one batch. A leader"
        " that is moved in time costs about 0.1 s, until the next one has read of it.",
        "A leader that is moved in time, by a controlled shutdown or a preferred election: the"
        " requests of ZooKeeper mode are faster than the metadata log.",
    ),
    Figure(
        "leaderless_median_us",
        "Leaderless time, median partition",
        "Beyond that, one write and its requests for each partition before it.",
        "No more than that: all partitions of a broker are in one batch.",
        either="What decides the first partition.",
    ),
    Figure(
        "leaderless_last_us",
        "Leaderless time, last partition",
        "The session, and one write and its requests for each partition: size multiplies that.",
        "The session alone: all partitions of a broker are in one batch, whatever their number.",
        "The active controller dies together with a leader: the next controller gives every broker"
        " a whole session from its election on, so the two times add up, where ZooKeeper lets both"
        " sessions run at once. An unclean election that is enabled while a partition is offline"
        " comes at once with ZooKeeper; with KRaft only a registration or an unfencing brings it,"
        " or a task every 300 s (from 3.9).",
    ),
    Figure(
        "unwritable_us",
        "Partition-seconds that refuse acks=all writes",
        "If all of an ISR died, only the last one of it may lead again.",
        "With ELRs (4.1) another replica may lead again, if it stopped cleanly.",
        "ISRs fall below min.insync.replicas sooner, as the session is shorter.",
        either="Leaderless time, and how long ISRs are below min.insync.replicas. While a dead"
        " follower is still in the ISR, writes with acks=all are stalled instead of being refused.",
    ),
    Figure(
        "controller_less_us",
        "Time without an active controller",
        "The session of its broker (18 s by default); a graceful stop ends it at once.",
        "The fetch timeout of the voters (2 s by default) and an election, with nothing to read"
        " again after it. A graceful stop hands over within a second. A split vote costs one more"
        " round.",
        published="Recovery from a lost controller at 2 million partitions: 503 s with ZooKeeper,"
        " 37 s with a KRaft before its first release (Confluent, 2021; the numbers stand in an"
        " image, unverified). Reload of 100,000 partitions: 28 s before, 14 s from 1.1.0 on"
        " (Confluent, 2018). About 37 s to load a million partitions, and 40 s until brokers had"
        " applied them (Tencent, from a secondary source).",
    ),
    Figure(
        "controller_reload_longest_us",
        "Reload of an elected controller, longest",
        "The number of partitions: it reads all their states, and sends them to all brokers.",
        "",
    ),
    Figure(
        "active_controllers_most",
        "Active controllers at once, most",
        "A controller that is paused or cut off stays active until it hears of its successor; the"
        " controller epoch refuses what it writes.",
        "From 3.7 on a leader of the quorum that no majority fetches from resigns after 1.5 fetch"
        " timeouts; before that it stays until it hears of its successor. It commits nothing.",
    ),
    Figure(
        "exit_longest_us",
        "SIGTERM until the process is gone, longest",
        "One write and its requests for each partition that the broker leads.",
        "The heartbeats of all brokers: it may go once each of them has read the metadata log up to"
        " its request. Their interval is 2 s by default, and the number of partitions has no part.",
        "A broker that leads little is gone sooner with ZooKeeper: KRaft waits for heartbeats even"
        " if there is nothing to move.",
        "Controlled shutdown at 2 million partitions: 135 s with ZooKeeper, 32 s with KRaft before"
        " its first release (Confluent, 2021; the numbers stand in an image, unverified). Of 10,000"
        " partitions per broker: 6.5 min before, 3 s from 1.1.0 on (Confluent, 2018).",
    ),
    Figure(
        "return_longest_us",
        "Process start until back in all ISRs, longest",
        "After a clean stop it registers at once.",
        "From 4.0 on after a clean stop, too, it is registered once its old session is over.",
        "A quick restart: until the session is over (9 s after the last heartbeat by default) the"
        " registration is refused, from 4.0 on after a clean stop too, while ZooKeeper registers"
        " the broker at once. After a crash the logs are recovered in both modes, before the broker"
        " is unfenced: that decides, and not the mode.",
        either="The loading of logs, what the broker has to fetch, and after a kill the end of its"
        " old session.",
    ),
    Figure(
        "out_of_isr_us",
        "Replica-seconds outside of the ISR",
        "A killed broker leaves the ISRs later, as its session is longer.",
        "A killed broker leaves the ISRs earlier, and need not be back any earlier.",
        "A lost broker leaves the ISRs earlier, which counts here; writes with acks=all wait for"
        " less time. After a quick restart the broker is out until its old session is over.",
        either="How soon a lost broker leaves the ISRs, and how soon it is back.",
    ),
    Figure(
        "isr_changes",
        "Changes of ISRs",
        "Leaders shrink and expand; the controller removes a broker partition by partition.",
        "Leaders shrink and expand; fencing, or a request to stop, removes a broker from all ISRs"
        " at once.",
    ),
    Figure(
        "leader_elections",
        "Leaders elected",
        "Preferred leaders come back only where more than 10 % of a broker's are elsewhere.",
        "Every preferred leader that can lead comes back, 1,000 in a run of the task.",
        "After a restart all leaderships move back; ZooKeeper leaves a small imbalance as it is.",
        either="Leaders that were lost, or moved by a controlled shutdown, and preferred leaders"
        " that come back.",
    ),
    Figure(
        "leader_epochs",
        "Leader epochs begun",
        "Each election, each removal of a dead replica, each controlled shutdown of a follower.",
        "Elections alone from metadata.version 3.6 on; before that each shrunk ISR as well.",
    ),
    Figure(
        "follower_starts",
        "Starts of replication by followers",
        "The removal of a dead follower begins a leader epoch, too.",
        "A lost follower begins no epoch (metadata.version 3.6 and later), so that the others go"
        " on.",
        either="Each leader epoch restarts the fetching of all other followers, and each start of"
        " a broker that of its own replicas.",
    ),
    Figure(
        "state_writes",
        "Partition states written",
        "Each is a write to ZooKeeper.",
        "Each is a record of the metadata log.",
        either="One for each partition and change, so the modes are much alike.",
    ),
    Figure(
        "state_commits",
        "Commits that wrote them",
        "As many as there are states: each is a write of its own.",
        "One for each batch: all partitions of a lost broker are in one.",
    ),
    Figure(
        "control_requests",
        "Requests between brokers and control plane",
        "LeaderAndIsr to each host of a changed partition, and UpdateMetadata to every broker; all"
        " of them to a broker that starts.",
        "Registrations and AlterPartition: states travel in the metadata log, not in requests.",
    ),
    Figure(
        "heartbeats",
        "Signs of life of brokers",
        "A ping after a third of the session without another request (6 s by default).",
        "A heartbeat every 2 s by default, and every one at once while a broker starts or stops.",
        "KRaft sends more of them.",
    ),
    Figure(
        "metadata_fetches",
        "Fetches of the metadata log by brokers",
        "",
        "Each commit ends every broker's waiting fetch; an idle controller commits every 500 ms.",
    ),
    Figure(
        "records_lost",
        "Acknowledged records lost",
        "A leader that is cut off from ZooKeeper alone leads on for itself until it hears of its"
        " successor.",
        "A leader that is cut off from the controllers alone does so, too. With ELRs (4.1) a"
        " replica outside of the ISR may lead without a loss, if it stopped cleanly.",
        either="acks=1 at a leader that is cut off, unclean elections, loss of power.",
    ),
    Figure(
        "records_given_up",
        "Records that producers gave up",
        "",
        "",
        either="Time without a leader, or below min.insync.replicas, beyond delivery.timeout.ms.",
    ),
    Figure(
        "records_unsent",
        "Records that never left their applications",
        "",
        "",
        either="A stall that fills buffer.memory: send() blocks for max.block.ms, and what was due"
        " meanwhile is not sent.",
    ),
    Figure(
        "blocked_us",
        "send() blocked, of all producers",
        "",
        "",
        either="A stall that fills buffer.memory, by the rate and size of records.",
    ),
)
