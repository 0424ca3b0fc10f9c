"""The rules that differ between releases of Kafka, as one record of switches.

A rule takes this record as its first argument, so one compiled function serves every release, and
brokers of several releases can meet in one cluster. One table has the release that sets each
switch, and the source in which that was read: ``releases.py``.
"""

from tidegauge.compiled.codes import code
from tidegauge.compiled.records import Record, flag, i64

# out_of_sync_rule: when a member of the ISR is out of sync.
OUT_OF_SYNC_BY_TIME = code(1)  #: not caught up for longer than the lag time
OUT_OF_SYNC_BY_OFFSET_AND_TIME = code(2)  #: ... and its log end differs from the leader's

# isr_update_path: how a leader changes the ISR.
ISR_UPDATE_ZOOKEEPER = code(1)  #: writes ZooKeeper inside the partition's lock
ISR_UPDATE_ZOOKEEPER_PENDING = code(2)  #: the same, through a pending state (ZkIsrManager)
ISR_UPDATE_ALTER_PARTITION = code(3)  #: asks the controller (KIP-497)

# isr_order: the order of the members in the ISR that a leader writes or asks for.
ISR_APPENDED = code(1)  #: as it was, and a replica that joins at the end
ISR_HASHED = code(2)  #: that of a hash table of broker ids

# high_watermark_rule: the replicas that hold back the leader's high watermark.
HIGH_WATERMARK_BY_ISR = code(1)  #: the ISR
HIGH_WATERMARK_BY_ISR_OR_LAG_TIME = code(2)  #: ... and those caught up within the lag time
HIGH_WATERMARK_BY_ISR_OR_CAUGHT_UP = code(3)  #: ... or has the leader's log end offset
HIGH_WATERMARK_BY_ISR_OR_ELIGIBLE = code(4)  #: ... if it may enter the ISR at all
# No release has these two: a pending change of the ISR (KIP-497) is not counted in.
HIGH_WATERMARK_BY_COMMITTED_ISR = code(5)  #: the ISR as the leader knows it to be stored
HIGH_WATERMARK_BY_PROPOSED_ISR = code(6)  #: the ISR that the leader has asked for

# epoch_cache_generation: which LeaderEpochFileCache.
EPOCH_CACHE_NONE = code(0)  #: up to 0.10.2, from 2.1.1 for records that carry no epoch
EPOCH_CACHE_A = code(1)  #: 0.11.0 - 1.1 (KIP-101)
EPOCH_CACHE_B = code(2)  #: 2.0.0 (KIP-279)
EPOCH_CACHE_C = code(3)  #: 2.0.1, 2.1 - 2.6 (KAFKA-7415)
EPOCH_CACHE_D = code(4)  #: 2.7 and later

# truncation_protocol: how a follower finds out where its log leaves the leader's.
TRUNCATE_TO_HIGH_WATERMARK = code(1)  #: it does not ask
TRUNCATE_KIP_101 = code(2)  #: asks for the end offset of its last epoch
TRUNCATE_KIP_279 = code(3)  #: ... and gets the epoch too, repeatedly if need be
TRUNCATE_KIP_320 = code(4)  #: ... under a leader epoch that fences both sides
TRUNCATE_ON_FETCH = code(5)  #: each fetch has its last epoch (KIP-595)
TRUNCATE_NEVER = code(6)  #: it keeps what it has; no release does

# fetcher_restart_rule: which LeaderAndIsr makes a follower start fetching anew.
RESTART_ON_NEW_LEADER = code(1)  #: another leader id
RESTART_UNLESS_NEXT_EPOCH = code(2)  #: not for the same leader in the same or the next epoch
RESTART_UNLESS_SAME_EPOCH = code(3)  #: not for the same leader in the same epoch
RESTART_ON_NEW_EPOCH = code(4)  #: a larger epoch

# heartbeat_timeout: the wait of a broker of KRaft for the response to a heartbeat.
HEARTBEAT_TIMEOUT_SOCKET = code(1)  #: controller.socket.timeout.ms
HEARTBEAT_TIMEOUT_HALF_SESSION = code(2)  #: half of broker.session.timeout.ms
HEARTBEAT_TIMEOUT_INTERVAL = code(3)  #: broker.heartbeat.interval.ms; so is the wait to resend

# failed_allocation: what a request for producer ids does that fails to authenticate.
FAILED_ALLOCATION_EXITS = code(1)  #: its broker halts
FAILED_ALLOCATION_STAYS = code(2)  #: it counts as in flight for as long as its process lives
FAILED_ALLOCATION_RETRIED = code(3)  #: another one is sent as a producer asks

# producer_without_state: a producer of which nothing is known begins with another sequence than 0.
NO_STATE_OUT_OF_ORDER = code(1)  #: OUT_OF_ORDER_SEQUENCE_NUMBER
NO_STATE_UNKNOWN_PRODUCER = code(2)  #: UNKNOWN_PRODUCER_ID
NO_STATE_ACCEPTED = code(3)  #: the batch is appended


class ReleaseRules(Record):
    """The switches of one release and inter.broker.protocol.version."""

    # The leader's view of its followers (remote_replica.py).
    #: A read that failed overwrites the view with "unknown" (KAFKA-8400).
    failed_read_updates_follower: flag
    #: A fetch that is answered with a diverging epoch updates the view (KAFKA-13141).
    diverging_fetch_updates_follower: flag
    #: A fetch that is refused for its leader epoch (KIP-320) moves the high watermark.
    fenced_fetch_moves_high_watermark: flag
    #: A fetch that is refused for its leader epoch counts as caught up.
    fenced_fetch_is_caught_up: flag
    #: A fetch that is refused for its leader epoch brings its follower into the ISR.
    fenced_fetch_expands_isr: flag
    #: A follower's fetch of another leader epoch is answered with records, and not counted.
    fenced_fetch_is_answered: flag
    #: ``last_fetch_time_ms`` of a follower that has not fetched from a new leader yet.
    unknown_last_fetch_time_ms: i64
    #: ``last_fetch_leader_log_end_offset`` never goes down.
    last_fetch_leader_log_end_offset_monotone: flag
    #: LeaderAndIsr resets the views only when the leader epoch is new.
    followers_reset_on_new_epoch_only: flag

    # In-sync replicas (in_sync_replicas.py).
    #: OUT_OF_SYNC_*.
    out_of_sync_rule: i64
    #: A follower joins only from the leader's high watermark on.
    expand_requires_high_watermark: flag
    #: A follower joins only from the leader's log end at the start of its epoch on.
    expand_requires_epoch_start: flag
    #: ... and only if the leader's broker has it as alive.
    expand_requires_eligible: flag
    #: A partition never needs more in-sync replicas than it has replicas (KAFKA-15583).
    min_isr_capped_by_replicas: flag
    #: Replicas that a reassignment adds are not missing from the ISR (KIP-352).
    under_replicated_without_adding: flag

    # Changing the ISR (isr_update.py).
    #: ISR_UPDATE_*.
    isr_update_path: i64
    #: ISR_APPENDED, ISR_HASHED.
    isr_order: i64
    #: A leader's ISR is stored only over the state that the leader knows: by the version of that
    #: state in ZooKeeper, or by the partition epoch.
    isr_version_checked: flag
    #: An answer with the partition epoch that is already known is ignored.
    isr_update_ignores_equal_epoch: flag
    #: OPERATION_NOT_ATTEMPTED goes back to the committed ISR ...
    isr_update_reverts_if_not_attempted: flag
    #: ... and so does INELIGIBLE_REPLICA.
    isr_update_reverts_if_ineligible: flag
    #: After any other error the same proposal is queued again; before, the queue does not take
    #: it, for the one that was answered is still in it.
    isr_update_queued_again: flag
    #: INVALID_REQUEST ends the attempt ...
    isr_update_gives_up_on_invalid_request: flag
    #: ... and so do UNKNOWN_TOPIC_ID and NEW_LEADER_ELECTED.
    isr_update_gives_up_on_topic_id: flag
    #: AlterIsr is sent every 50 ms, not as soon as there is something to be sent.
    isr_updates_sent_periodically: flag
    #: A LeaderAndIsr takes the leader's proposal out of the queue to the controller.
    leader_and_isr_drops_isr_update: flag
    #: The controller answers NOT_CONTROLLER to a leader that knows more than itself, and compares
    #: partition epochs before it writes.
    alter_partition_epoch_checked: flag
    #: The controller refuses an ISR with a member whose broker is not alive (KIP-841).
    alter_partition_requires_eligible: flag
    #: The high watermark is attempted when a shrink is proposed, before it is confirmed.
    high_watermark_on_isr_proposal: flag
    #: The high watermark is attempted when the change is confirmed (KAFKA-13091).
    high_watermark_on_isr_update: flag

    # High watermark (high_watermark.py).
    #: HIGH_WATERMARK_BY_*.
    high_watermark_rule: i64
    #: A fetch moves it only if the follower's log end offset changed.
    high_watermark_only_if_follower_moved: flag
    #: A response carries it as this very fetch has moved it (KAFKA-7104).
    high_watermark_of_response_is_new: flag
    #: It stands still while the ISR is smaller than min.insync.replicas (KAFKA-15583).
    high_watermark_waits_for_min_isr: flag
    #: Kept between log start and log end offset: by followers and by truncation.
    high_watermark_clamped_to_log: flag
    #: A new leader's that lies outside its log becomes unknown, -1, not the log start.
    high_watermark_outside_log_unknown: flag
    #: A follower takes it from a response with a truncation (KAFKA-14704).
    high_watermark_from_diverging_response: flag

    # Leader epochs and truncation (leader_epoch_cache.py, log.py, truncation.py).
    #: Batches carry the leader epoch (message format v2).
    records_carry_epoch: flag
    #: EPOCH_CACHE_*.
    epoch_cache_generation: i64
    #: A cache without entries answers the log end to a request for epoch -1 (KAFKA-6857).
    undefined_epoch_is_latest: flag
    #: A leader enters its epoch when it takes over, not with its first record.
    epoch_assigned_on_become_leader: flag
    #: Truncation at or above the log end leaves the cache as it is (KAFKA-10706).
    epoch_kept_by_empty_truncation: flag
    #: TRUNCATE_*.
    truncation_protocol: i64
    #: A follower with an empty cache asks for epoch -1 instead of not asking.
    empty_cache_is_asked_for: flag
    #: RESTART_*.
    fetcher_restart_rule: i64
    #: The fetcher has the leader epoch in which it fetches a partition.
    fetcher_knows_leader_epoch: flag
    #: A follower without records to compare starts at its high watermark, not its log end.
    fetch_starts_at_high_watermark: flag
    #: OffsetsForLeaderEpoch and ListOffsets carry the current leader epoch (KIP-320).
    epoch_request_fenced: flag
    #: Fetch carries the current leader epoch (KIP-320).
    fetch_fenced: flag
    #: An answer about epochs is dropped if the leader epoch changed meanwhile (KAFKA-7786).
    epoch_answer_dropped_on_new_epoch: flag
    #: FENCED_LEADER_EPOCH counts only if the request's epoch is still the current one.
    fenced_only_in_current_epoch: flag
    #: A response to a fetch of another leader epoch is ignored whole, be it an error or records
    #: (KAFKA-18723).
    fetch_of_other_epoch_ignored: flag
    #: A partition that fails leaves the fetcher alone, the others go on (KIP-461).
    failed_partition_leaves_fetcher: flag
    #: The first response without records makes it forget its last epoch (KAFKA-15510).
    first_empty_response_forgets_epoch: flag
    #: OFFSET_OUT_OF_RANGE below the log end ends the broker unless unclean is allowed.
    out_of_range_can_stop_broker: flag

    # A leader's responses (leader_read.py).
    #: Below the log start comes before divergence.
    log_start_checked_before_divergence: flag
    #: ListOffsets waits for the high watermark to reach the leader's epoch (KIP-207).
    list_offsets_waits_for_epoch_start: flag
    #: "Not hosted here" is NOT_LEADER_OR_FOLLOWER for partitions that are known elsewhere ...
    unhosted_partition_looked_up: flag
    #: ... in answers to OffsetsForLeaderEpoch too.
    unhosted_partition_looked_up_for_epochs: flag
    #: A fetch that is sent to another replica is answered at once, not after its longest wait.
    preferred_read_replica_answered_at_once: flag
    #: A follower whose high watermark moves completes the fetches that wait for it.
    follower_wakes_fetches: flag
    #: A consumer is sent to members of the ISR only (KAFKA-14372).
    preferred_read_replica_in_isr: flag
    #: "No log here" is NOT_LEADER_OR_FOLLOWER rather than REPLICA_NOT_AVAILABLE.
    missing_log_is_not_leader: flag

    #: A follower's fetch does not wait if the high watermark has moved since its last one.
    fetch_answers_newer_high_watermark: flag
    #: Answers name only partitions with something new, so only these have their high watermark
    #: updated (KIP-227).
    fetch_sessions: flag
    #: A request that fails puts the fetcher's thread to sleep, all its partitions with it.
    fetcher_sleeps_after_error: flag

    # Idempotent producers (producer_state.py).
    #: The number of batches of a producer that a replica remembers.
    producer_batches_retained: i64
    #: NO_STATE_*.
    producer_without_state: i64
    #: A known producer whose last sequence is not known (only a marker is left of it) and that does
    #: not begin with 0 is answered UNKNOWN_PRODUCER_ID, not OUT_OF_ORDER_SEQUENCE_NUMBER.
    unknown_sequence_is_unknown_producer: flag
    #: A batch older than those that are remembered is answered DUPLICATE_SEQUENCE_NUMBER, not
    #: OUT_OF_ORDER_SEQUENCE_NUMBER.
    forgotten_duplicate_is_named: flag
    #: A producer is known until it expires, also when all of its records have been deleted.
    producer_outlives_records: flag

    # Requests of the controller (partition.py).
    #: A LeaderAndIsr for a replica on a failed disk is answered KAFKA_STORAGE_ERROR (KIP-112).
    offline_replica_answered: flag
    #: LeaderAndIsr and StopReplica carry the broker epoch (KIP-380).
    broker_epoch_fenced: flag
    #: StopReplica carries the leader epoch (KIP-570).
    stop_replica_fenced: flag
    #: ... and an equal one is accepted.
    stop_replica_accepts_equal_epoch: flag
    #: A LeaderAndIsr with an older partition epoch than the known one is skipped.
    partition_epoch_checked: flag

    # The controller (room ``controller``).
    #: The last member stays in the ISR even if unclean election is enabled.
    last_isr_member_stays: flag
    #: A replica whose broker is down can be left out of its topic's deletion (KAFKA-8237).
    offline_replica_turns_ineligible: flag
    #: A failure takes every partition offline whose leader is not online, not only those
    #: that the dead brokers led.
    failure_checks_every_leader: flag
    #: A preferred leader that leads already is elected once more.
    preferred_leader_elected_again: flag
    #: An isr_change_notification event lists the children again and handles all of them.
    notifications_listed_anew: flag
    #: A new controller deletes the notifications that it finds without reading them.
    notifications_deleted_at_failover: flag
    #: /controller is created and the controller epoch raised in one transaction, and every
    #: write of the controller checks that epoch.
    controller_fenced_by_epoch: flag
    #: An assignment has the replicas that are added and removed (KIP-455); before, only
    #: /admin/reassign_partitions had the targets.
    assignment_says_what_moves: flag
    #: A broker that is back with another registration has failed and started.
    bounced_brokers_detected: flag
    #: For brokers that are lost together, the replicas are handled in the order of a Scala set;
    #: later, broker by broker.
    dead_replicas_in_set: flag
    #: A new controller takes dead replicas out of ISRs before it elects leaders.
    failover_removes_dead_replicas: flag
    #: A topic in which unclean election is switched on elects leaders where it has none.
    unclean_switch_elects: flag
    #: The automatic rebalance leaves preferred replicas alone that are not in the ISR, as known.
    rebalance_asks_known_isr: flag
    #: A log that was recovered is taken to be on disk up to its end.
    recovery_point_at_end_after_recovery: flag
    #: A broker registers while it is still starting, and takes requests some time later;
    #: before, it does so last, and its controller starts first.
    registered_before_requests: flag
    #: ... which are refused until then: its port is opened last.
    port_opened_last: flag
    #: OffsetsForLeaderEpoch is answered; before, a broker closes the connection.
    epoch_requests_answered: flag
    #: Recovery points are checkpointed whenever a follower looks whether to truncate, even if
    #: there is nothing to cut.
    truncation_always_checkpoints: flag
    #: A broker halts when a log directory fails, and does not start without one.
    log_dir_failure_halts_broker: flag
    #: A flush that runs as a move between log directories ends takes the directory offline that was
    #: left (KAFKA-19571).
    flush_of_closed_log_fails_directory: flag
    #: A broker that stops looks for the controller in its metadata cache, not in ZooKeeper.
    shutdown_asks_cached_controller: flag
    #: It waits for the back-off even when no attempt of its controlled shutdown is left.
    shutdown_backs_off_after_last: flag
    #: Threads that poll for up to a second are interrupted when a broker stops.
    stop_interrupts_polls: flag
    #: A broker that dies while it loads its logs has not stopped cleanly.
    clean_marker_deleted_before_loading: flag

    # With KRaft (room ``metadata`` of ``actors``).
    #: Fetches and proposals carry broker epochs: no replica joins an ISR by a fetch of its former
    #: process (KIP-903).
    broker_epochs_checked: flag
    #: HEARTBEAT_TIMEOUT_*.
    heartbeat_timeout: i64
    #: FAILED_ALLOCATION_*.
    failed_allocation: i64
