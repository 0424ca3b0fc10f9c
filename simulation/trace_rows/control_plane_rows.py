"""Rows of the state that a control plane holds, written by the owner of the truth.

They are the same with any control plane. Checks, figures, histories and tables read them.
"""

from __future__ import annotations

from tidegauge.simulation.trace_rows import columns as column
from tidegauge.simulation.trace_rows.row import CanonicalRow, PartitionRow


class PartitionState(PartitionRow, number=94):
    """What the control plane holds of a partition, after it was created, written or deleted."""

    STORY = (
        "the state is {change} by {writer}: leader {leader}, epoch {leader_epoch}, ISR {isr},"
        " partition epoch {partition_epoch}"
    )

    change: column.Change
    leader: column.Leader
    leader_epoch: column.LeaderEpoch
    partition_epoch: column.PartitionEpoch
    isr: column.Isr
    controller_epoch: column.ControllerEpoch
    writer: column.Writer


class PartitionReplicas(PartitionRow, number=59):
    """A partition's replicas in the control plane are others now, or in another order."""

    STORY = "the assignment is {replicas} now; {adding} are being added, {removing} removed"

    replicas: column.Replicas
    adding: column.Adding
    removing: column.Removing
    eligible_leaders: column.EligibleLeaders
    last_known_leader: column.LastKnownLeader
    recovering: column.Recovering


class BrokerState(CanonicalRow, number=95):
    """The control plane takes a broker for absent, fenced, active or shutting down."""

    STORY = "takes {broker} for {state}: {state_reason}"

    broker: column.Broker
    state: column.State
    broker_epoch: column.BrokerEpoch
    state_reason: column.StateReason


class ControllerActive(CanonicalRow, number=96):
    """Another broker is the active controller now; -1: none is; -2: one of before the run."""

    STORY = "active controller: {broker}, controller epoch {controller_epoch}"

    broker: column.Broker
    controller_epoch: column.ControllerEpoch


class TopicConfigured(CanonicalRow, number=48):
    """The settings of a topic were written."""

    STORY = (
        "{topic} now has min.insync.replicas={min_insync_replicas}, unclean election "
        "{unclean_enabled}"
    )

    topic: column.Topic
    min_insync_replicas: column.MinInsyncReplicas
    unclean_enabled: column.UncleanEnabled
