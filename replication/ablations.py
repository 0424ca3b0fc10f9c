"""Ablations: rules of Kafka's protocol, each taken away by name, and the promises that fall then.

No release lacks these rules in this way. An ablation shows the purpose of a rule: the checks that
it breaks are those that the rule carries. Model checking of the protocol found which they are for
the rules of KIP-320 and of KIP-497; the name of its variant stands with each ablation. Those of
Raft and of KIP-853 take away what its specification (kraft_kip_853.tla) rests on.

``ABLATIONS`` has each by its name, and ``SEEDED_BUGS`` those that a search for faults has to find.
An ablation sets switches of ``release_rules.py`` or ``kraft_releases.py``; a scenario names it
under ``ablations``.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from tidegauge.replication.kraft_releases import KRAFT_CELLS, kraft_cells_of
from tidegauge.replication.release_rules import (
    HIGH_WATERMARK_BY_COMMITTED_ISR,
    HIGH_WATERMARK_BY_PROPOSED_ISR,
    RESTART_ON_NEW_LEADER,
    TRUNCATE_KIP_101,
    TRUNCATE_KIP_279,
    TRUNCATE_NEVER,
    TRUNCATE_TO_HIGH_WATERMARK,
)
from tidegauge.replication.release_versions import KRAFT_MODE, ZOOKEEPER_MODE, Mode
from tidegauge.replication.releases import rule_cells_of

#: The checks that fall, by the invariants of the model: the ISR lacks what was exposed, and after
#: another election it is lost, or read differently.
WINDOW = ("strong_isr",)
LOSS = (*WINDOW, "committed_agree", "exposed_durable", "exposed_unique")
#: ... and logs differ below records that are equal.
DIVERGENCE = (*LOSS, "log_matching")


class Ablation(NamedTuple):
    """A rule that is taken away."""

    #: The rule that is missing, with its Kafka class and method or its KIP.
    meaning: str
    #: The switches that it sets, by their names.
    switches: Mapping[str, int | bool]
    #: The checks that some schedule breaks; none: all promises hold without the rule.
    breaks: tuple[str, ...]
    #: The variant of the model with its section; None: the model does not have it.
    model: str | None = None
    #: The release whose other rules stay, and its control plane.
    release: str = "2.6"
    mode: Mode = ZOOKEEPER_MODE
    #: Schedules that change the voters of a quorum break it (KIP-853).
    changes_voters: bool = False


def _of_voters(
    meaning: str, switches: Mapping[str, bool], breaks: tuple[str, ...], release: str = "4.4"
) -> Ablation:
    """A rule of a quorum whose voters change."""
    return Ablation(meaning, switches, breaks, None, release, KRAFT_MODE, changes_voters=True)


ABLATIONS: Mapping[str, Ablation] = {
    # Fencing by the leader epoch (KIP-320).
    "unfenced_fetch": Ablation(
        "A leader sends records to followers of other leader epochs, and only its view of them is "
        "fenced (KIP-320, Partition.readRecords).",
        {"fenced_fetch_is_answered": True},
        DIVERGENCE,
        "Kip320-unfencedFetch",
    ),
    "unfenced_high_watermark": Ablation(
        "A fetch that is refused for its leader epoch moves the leader's high watermark (KIP-320, "
        "Partition.updateFollowerFetchState).",
        {"fenced_fetch_moves_high_watermark": True},
        LOSS,
        "Kip320-unfencedHwInc",
    ),
    "unfenced_fetch_and_high_watermark": Ablation(
        "Fetches carry no leader epoch: their followers get records, and count (KIP-320, "
        "ReplicaFetcherThread.fetchRequestVersion).",
        {"fetch_fenced": False},
        DIVERGENCE,
        "Kip320-unfencedFetch+unfencedHwInc",
    ),
    "unfenced_shrink": Ablation(
        "A fetch that is refused for its leader epoch keeps its follower in the ISR (KIP-320, "
        "Partition.isFollowerOutOfSync). A larger ISR is as safe.",
        {"fenced_fetch_is_caught_up": True},
        (),
        "Kip320-unfencedShrink",
    ),
    "unfenced_truncation": Ablation(
        "OffsetsForLeaderEpoch carries no leader epoch: a leader of an earlier term answers for "
        "this one (KIP-320, Partition.lastOffsetForLeaderEpoch).",
        {"epoch_request_fenced": False},
        DIVERGENCE,
        "Kip320-unfencedTruncate279",
    ),
    # Joining the ISR.
    "expand_without_epoch_start": Ablation(
        "A follower joins from the high watermark on, though it is below the start of the leader's "
        "epoch (KAFKA-7128, Partition.maybeExpandIsr).",
        {"expand_requires_epoch_start": False},
        LOSS,
        "Kip320-expandNoEpochStart",
    ),
    "expand_unfenced": Ablation(
        "A fetch that is refused for its leader epoch brings its follower into the ISR (KIP-320, "
        "Partition.maybeExpandIsr).",
        {"fenced_fetch_expands_isr": True},
        LOSS,
        "Kip320-expandUnfenced",
    ),
    # Truncation.
    "truncate_kip_101": Ablation(
        "A follower is told where its last epoch ended, and not which epoch that was (KIP-279, "
        "AbstractFetcherThread.getOffsetTruncationState).",
        {"truncation_protocol": TRUNCATE_KIP_101},
        DIVERGENCE,
        "Kip320-truncate101",
    ),
    "truncate_to_high_watermark": Ablation(
        "A follower truncates to its own high watermark (KIP-101, "
        "ReplicaFetcherThread.maybeTruncate).",
        {"truncation_protocol": TRUNCATE_TO_HIGH_WATERMARK},
        DIVERGENCE,
        "Kip320-truncateHW",
    ),
    "no_truncation": Ablation(
        "A follower keeps its log, whoever leads: only one that is longer than the leader's is cut "
        "(AbstractFetcherThread.maybeTruncate).",
        {"truncation_protocol": TRUNCATE_NEVER},
        DIVERGENCE,
        "Kip320-noTruncate",
    ),
    # Protocols between two generations.
    "kip_279_with_epoch_start": Ablation(
        "Truncation of KIP-279 and the fix of KAFKA-7128, and nothing is fenced: roughly 2.1.",
        {
            "truncation_protocol": TRUNCATE_KIP_279,
            "epoch_request_fenced": False,
            "fetch_fenced": False,
        },
        DIVERGENCE,
        "Kip279+expandEpochStart",
    ),
    "kip_279_with_fenced_high_watermark": Ablation(
        "Truncation of KIP-279; of followers in other leader epochs only the high watermark is "
        "fenced.",
        {
            "truncation_protocol": TRUNCATE_KIP_279,
            "epoch_request_fenced": False,
            "fenced_fetch_is_answered": True,
            "fenced_fetch_expands_isr": True,
            "expand_requires_epoch_start": False,
        },
        DIVERGENCE,
        "Kip279+fencedHwInc",
    ),
    "kip_279_with_fenced_high_watermark_and_expand": Ablation(
        "Truncation of KIP-279; of followers in other leader epochs the high watermark and the way "
        "into the ISR are fenced.",
        {
            "truncation_protocol": TRUNCATE_KIP_279,
            "epoch_request_fenced": False,
            "fenced_fetch_is_answered": True,
        },
        DIVERGENCE,
        "Kip279+fencedHwInc+expandFenced",
    ),
    "first_try": Ablation(
        "Each fetch has its last epoch, and none has its leader's (KIP-320's first proposal, "
        "Partition.readRecords).",
        {"fetch_fenced": False},
        LOSS,
        "Kip320FirstTry",
        "2.8",
    ),
    "first_try_expand_without_epoch_start": Ablation(
        "The same, without the fix of KAFKA-7128.",
        {"fetch_fenced": False, "expand_requires_epoch_start": False},
        LOSS,
        "Kip320FirstTry-expandNoEpochStart",
        "2.8",
    ),
    "restart_on_new_leader": Ablation(
        "A follower that has missed an election goes on fetching from the same leader, in its old "
        "epoch (KAFKA-7164, Partition.makeFollower). The fence of KIP-320 ends that, so its log "
        "does not diverge, but it never follows again.",
        {"fetcher_restart_rule": RESTART_ON_NEW_LEADER},
        ("liveness",),
    ),
    "restart_on_new_leader_unfenced": Ablation(
        "The same, and fetches carry no leader epoch: its log diverges, as up to 2.0.0.",
        {"fetcher_restart_rule": RESTART_ON_NEW_LEADER, "fetch_fenced": False},
        DIVERGENCE,
    ),
    # Pending changes of the ISR (KIP-497).
    "high_watermark_by_isr_only": Ablation(
        "The high watermark does not wait for a replica that the leader has asked to add (KIP-497, "
        "Partition.maybeIncrementLeaderHW), nor for others that are caught up.",
        {"high_watermark_rule": HIGH_WATERMARK_BY_COMMITTED_ISR},
        LOSS,
        "AsyncIsr, ValidHwIsrOnly",
        "3.9",
        KRAFT_MODE,
    ),
    "high_watermark_by_pending_only": Ablation(
        "The high watermark does not wait for a replica that the leader has asked to remove "
        "(KIP-497, PendingShrinkIsr).",
        {"high_watermark_rule": HIGH_WATERMARK_BY_PROPOSED_ISR},
        LOSS,
        "AsyncIsr, ValidHwPend",
        "3.9",
        KRAFT_MODE,
    ),
    "alter_partition_without_version": Ablation(
        "An ISR is stored whatever the leader knew when it asked (KIP-497, "
        "ReplicationControlManager.validateAlterPartitionData), in ZooKeeper too (KAFKA-6082, "
        "KafkaZkClient.updateLeaderAndIsr).",
        {"isr_version_checked": False},
        LOSS,
        "AsyncIsr, nocas",
        "3.9",
        KRAFT_MODE,
    ),
    "expand_below_high_watermark": Ablation(
        "A follower joins from the start of the leader's epoch on, though it is below the high "
        "watermark (Partition.isFollowerInSync). In the model the high watermark goes down; a "
        "leader's never does.",
        {"expand_requires_high_watermark": False},
        LOSS,
        "AsyncIsr, expand_nohw: holds there",
        "3.9",
        KRAFT_MODE,
    ),
    # Members of the ISR, with KRaft.
    "fenced_replica_in_isr": Ablation(
        "A replica whose broker is fenced may be in an ISR (KIP-841, "
        "ReplicationControlManager.ineligibleReplicasForIsr).",
        {"fenced_replica_in_isr": True, "expand_requires_eligible": False},
        ("fenced_outside_isr",),
        None,
        "3.9",
        KRAFT_MODE,
    ),
    "without_broker_epochs": Ablation(
        "A replica joins an ISR by a fetch of its former process, which had another log (KIP-903, "
        "Partition.addBrokerEpochToIsr).",
        {"broker_epochs_checked": False},
        LOSS,
        None,
        "3.9",
        KRAFT_MODE,
    ),
    "diverging_fetch_counts": Ablation(
        "A leader counts the fetch offset of a follower that it tells to truncate (KAFKA-13141, "
        "ReplicaManager.updateFollowerFetchState).",
        {"diverging_fetch_updates_follower": True},
        LOSS,
        None,
        "3.9",
        KRAFT_MODE,
    ),
    # The voters of a quorum (KIP-853).
    "voter_change_before_last_one": _of_voters(
        "A leader appends a VotersRecord while the one before is not committed (KIP-853, "
        "RemoveVoterHandler.handleRemoveVoterRequest).",
        {"voter_change_awaits_last_one": False},
        ("one_voter_change", "voter_sets_overlap"),
    ),
    "voter_change_before_epoch": _of_voters(
        "A leader changes the voters before it has committed a record of its own epoch: the bug of "
        "the single-server changes in Ongaro's thesis (RemoveVoterHandler."
        "handleRemoveVoterRequest).",
        {"voter_change_awaits_epoch": False},
        ("one_voter_change",),
    ),
    "committed_voters_count": _of_voters(
        "Majorities are those of the committed voters, and not of the newest ones in the log "
        "(KIP-853, KRaftControlRecordStateMachine.lastVoterSet).",
        {"uncommitted_voters_count": False},
        ("elected_by_majority", "committed_metadata_kept"),
    ),
    "truncated_voters_stay": _of_voters(
        "A truncation does not take the voters back that were in the log (KIP-853, "
        "VoterSetHistory.truncateNewEntries).",
        {"truncated_voters_taken_back": False},
        ("voters_follow_log",),
    ),
    "vote_of_empty_directory": _of_voters(
        "A controller votes although the voter that is asked had another directory, with a disk "
        "that is lost (KIP-853, KafkaRaftClient.isValidVoterKey).",
        {"voter_directory_checked": False},
        ("elected_by_majority", "quorum_leader_complete"),
    ),
    "vote_for_shorter_log": _of_voters(
        "A voter votes for a candidate whose log is behind its own (KafkaRaftClient."
        "handleVoteRequest).",
        {"vote_needs_good_log": False},
        ("quorum_leader_complete", "committed_voters_kept", "committed_metadata_kept"),
    ),
    "vote_given_twice": _of_voters(
        "A voter votes for several candidates in one epoch (QuorumState."
        "transitionToUnattachedVotedState).",
        {"vote_given_once": False},
        ("one_quorum_leader", "elected_by_majority"),
    ),
    "diverging_fetch_answered": _of_voters(
        "A leader sends its records behind a log that differs from its own (KafkaRaftClient."
        "validateFetchOffsetAndEpoch).",
        {"diverging_fetch_refused": False},
        ("metadata_log_matching", "committed_metadata_kept"),
    ),
    "removed_leader_counts": _of_voters(
        "A leader that has removed itself counts for its own commits (KAFKA-16530, LeaderState."
        "maybeUpdateHighWatermark).",
        {"removed_leader_counts": True},
        ("committed_metadata_kept",),
    ),
    "removed_leader_stays": _of_voters(
        "A leader that has removed itself leads on when that is committed (KIP-853, "
        "RemoveVoterHandler.highWatermarkUpdated).",
        {"removed_leader_resigns": False},
        ("roles_match_states",),
    ),
    "observer_stands": _of_voters(
        "A controller that is no voter by its log stands for election (QuorumState."
        "transitionToCandidate).",
        {"observer_stands": True},
        ("roles_match_states",),
    ),
    "observer_does_not_vote": _of_voters(
        "A controller that is no voter by its log does not vote. It may be one by the log of the "
        "candidate (KIP-853, KafkaRaftClient.handleVoteRequest).",
        {"observer_votes": False},
        ("quorum_progress",),
        "3.9",
    ),
    "new_voter_lags": _of_voters(
        "A controller is added before it has the leader's log (KIP-853, LeaderState."
        "isReplicaCaughtUp). That costs time, and loses nothing.",
        {"new_voter_catches_up": False},
        (),
    ),
}


#: Ten bugs that a search has to find, from easy to deep: the first breaks a promise in one of six
#: fuzzed schedules of its release, the last in one of some 20,000.
SEEDED_BUGS = (
    "truncate_to_high_watermark",
    "no_truncation",
    "expand_unfenced",
    "expand_without_epoch_start",
    "diverging_fetch_counts",
    "truncate_kip_101",
    "high_watermark_by_isr_only",
    "restart_on_new_leader_unfenced",
    "unfenced_fetch",
    "unfenced_truncation",
)


def switches_of(names: Iterable[str]) -> dict[str, int | bool]:
    """The switches that ablations set together; of two values for one the last one counts."""
    return {
        switch: value if isinstance(value, bool) else int(value)
        for name in names
        for switch, value in ABLATIONS[name].switches.items()
    }


def has_effect(name: str, release: str, protocol: str | None, mode: Mode) -> bool:
    """Whether brokers of these versions have a rule that an ablation takes away."""
    cells = dict(rule_cells_of(release, protocol, mode))
    if mode == KRAFT_MODE:
        cells |= kraft_cells_of(release, protocol)
    switches = ABLATIONS[name].switches.items()
    return any(switch in cells and cells[switch].value != value for switch, value in switches)


def needs_kraft(name: str) -> bool:
    """Whether an ablation takes a rule away that only KRaft's control plane has."""
    return not ABLATIONS[name].switches.keys().isdisjoint(KRAFT_CELLS)
