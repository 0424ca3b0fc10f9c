"""Settings of topics (Kafka: ConfigurationControlManager).

Another min.insync.replicas empties the ELRs of the topic's partitions: who was eligible under the
old number need not be under the new one. A topic that allows unclean election from now on gets no
leader by that.
"""

from __future__ import annotations

from tidegauge.compiled.rules import inner_rule
from tidegauge.controller.kraft.handlers import WRITES
from tidegauge.controller.kraft.metadata_log import (
    append_partition,
    append_record,
    respond_when_committed,
)
from tidegauge.controller.kraft.registrations import CONFIG_RECORD
from tidegauge.controller.kraft.state import Quorum
from tidegauge.controller.kraft_partitions.partition_change import clear_elr
from tidegauge.controller.raft.responses import respond
from tidegauge.replication import errors
from tidegauge.simulation.events import new_response
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.messages.quorum_requests import (
    AdminResponse,
    IncrementalAlterConfigsRequest,
)


@WRITES.handles(IncrementalAlterConfigsRequest)
@inner_rule
def handle_incremental_alter_configs(
    world: Quorum, request: IncrementalAlterConfigsRequest
) -> None:
    """Set what an operator asks for.

    Source: ConfigurationControlManager.incrementalAlterConfigs,
    ReplicationControlManager.replay(ClearElrRecord)@4.1.0 (KAFKA-16540).
    """
    response = new_response(world, request, AdminResponse)
    topic = world.quorum_topics[request.topic]
    if not topic.exists:
        response.error = errors.UNKNOWN_TOPIC_OR_PARTITION
        respond(world, response)
        return
    clears = request.min_insync_replicas not in (NONE, topic.min_insync_replicas)
    if request.min_insync_replicas != NONE:
        topic.min_insync_replicas = request.min_insync_replicas
    if request.unclean_leader_election != NONE:
        topic.unclean_leader_election = request.unclean_leader_election == 1
    record = append_record(world, CONFIG_RECORD, request.topic)
    record.min_insync_replicas = topic.min_insync_replicas
    record.unclean_leader_election = topic.unclean_leader_election
    if clears and world.kraft_switches[0].eligible_leader_replicas:
        for number in range(topic.partition_count):
            partition = topic.first_partition + number
            if clear_elr(world.registrations[partition]):
                append_partition(world, partition)
    respond_when_committed(world, response)
