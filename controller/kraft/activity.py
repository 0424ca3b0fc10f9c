"""Whether a controller is the active one, and its response if it is not."""

from tidegauge.compiled.rules import inner_rule
from tidegauge.controller.kraft.metadata_log import respond_when_committed
from tidegauge.controller.kraft.state import Quorum
from tidegauge.controller.raft.measured import respond
from tidegauge.controller.raft.state import this_voter, voter_of
from tidegauge.replication import errors
from tidegauge.simulation.events import new_response
from tidegauge.simulation.messages import quorum_requests
from tidegauge.simulation.messages.controller_requests import (
    AlterPartitionRequest,
    AlterPartitionResponse,
    CommittedResponse,
)
from tidegauge.simulation.messages.event import Event
from tidegauge.simulation.trace_rows.codes import LEADER


@inner_rule
def is_active(world: Quorum) -> bool:
    """Whether this controller is the active one, as far as it knows."""
    voter = this_voter(world)
    return voter.state == LEADER and voter.claimed_epoch == voter.epoch


@inner_rule
def decides(world: Quorum) -> bool:
    """Whether this controller is the active one: the state in memory is its own."""
    owner = world.active_controller[0].voter
    return is_active(world) and owner == voter_of(world, world.context[0].handling)


@inner_rule
def refuse_as_not_active(world: Quorum, request: Event) -> None:
    """Answer a request with NOT_CONTROLLER.

    A controller that was superseded without knowing it does so only when that news arrives: until
    then the response waits for a commit.

    Source: ControllerExceptions.newWrongControllerException@4.1.0.
    """
    if request.kind == quorum_requests.BrokerHeartbeatRequest.KIND:
        _refuse(world, new_response(world, request, quorum_requests.BrokerHeartbeatResponse))
    elif request.kind == quorum_requests.BrokerRegistrationRequest.KIND:
        _refuse(world, new_response(world, request, quorum_requests.BrokerRegistrationResponse))
    elif request.kind == quorum_requests.AllocateProducerIdsRequest.KIND:
        _refuse(world, new_response(world, request, quorum_requests.AllocateProducerIdsResponse))
    elif request.kind == AlterPartitionRequest.KIND:
        _refuse(world, new_response(world, request, AlterPartitionResponse))
    else:
        _refuse(world, new_response(world, request, quorum_requests.AdminResponse))


@inner_rule
def _refuse(world: Quorum, response: CommittedResponse) -> None:
    response.error = errors.NOT_CONTROLLER
    if is_active(world):
        respond_when_committed(world, response)
    else:
        respond(world, response)
