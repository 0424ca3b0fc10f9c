"""Producer ids: InitProducerId, and with KRaft the blocks that the controller grants a broker.

The rules of blocks are in ``replication/producer_ids.py``. A request for a block goes to the
controller that the one before went to, until that connection fails, no response comes in time, or
the controller is not active any more; then it is sent again, to the leader of the quorum that the
broker knows. A minute after it was made the broker gives it up.

Simplified: a broker that is up as the run begins has a whole block; and with ZooKeeper a broker
always has ids.

Source: RPCProducerIdManager@3.6.0 and @4.4.0, NodeToControllerRequestThread@3.8.0,
BrokerServer.startup@4.1.0.
"""

from tidegauge.actors.process.lifecycle import halt
from tidegauge.actors.state.brokers import Brokers, now_ms
from tidegauge.actors.state.handlers import BROKER, REQUESTS
from tidegauge.actors.state.request_times import (
    depart,
    fails_to_authenticate,
    is_lost,
    known_leader,
    mark_error,
)
from tidegauge.compiled.rules import code, inner_rule
from tidegauge.replication import errors, producer_ids
from tidegauge.replication.release_rules import FAILED_ALLOCATION_EXITS, FAILED_ALLOCATION_RETRIED
from tidegauge.simulation.events import free_event, new_response
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.links import send, shortest_latency_us
from tidegauge.simulation.messages.client_requests import (
    InitProducerIdRequest,
    InitProducerIdResponse,
)
from tidegauge.simulation.messages.controller_timers import AllocateProducerIdsDue
from tidegauge.simulation.messages.kinds import KEY_OF_KIND
from tidegauge.simulation.messages.quorum_requests import (
    AllocateProducerIdsRequest,
    AllocateProducerIdsResponse,
)
from tidegauge.simulation.rows import REQUEST, cost_us
from tidegauge.simulation.topology import is_kraft
from tidegauge.simulation.trace_rows.codes import STOP_FAILED_ALLOCATION
from tidegauge.simulation.trace_rows.process_rows import RequestRefused

_TRUE = code(True)
_FALSE = code(False)

#: The channel's retryTimeoutMs: a request that is older is not sent again.
_RETRY_TIMEOUT_US = code(60_000_000)
#: The channel's interval of looking for a controller while none is known, and its wait before it
#: connects to the same one again.
_NO_CONTROLLER_US = code(100_000)
_RECONNECT_US = code(50_000)


@REQUESTS.handles(InitProducerIdRequest)
@inner_rule
def handle_init_producer_id(world: Brokers, request: InitProducerIdRequest) -> bool:
    """Give a producer an id of the broker's block, or have it ask again later.

    Source: KafkaApis.handleInitProducerIdRequest@4.1.0.
    """
    broker = request.destination
    request.cost_us = cost_us(world, broker, REQUEST)
    response = new_response(world, request, InitProducerIdResponse)
    if is_kraft(world):
        response.error = _generate_producer_id(world, broker)
    mark_error(world, request, response.error)
    if response.error != errors.NONE:
        RequestRefused.write(
            world,
            api_key=KEY_OF_KIND[request.kind],
            partition=NONE,
            from_process=request.source,
            error=response.error,
            offset=NONE,
        )
    send(world, response, world.context[0].time_us + request.cost_us)
    free_event(world, request)
    return True


@inner_rule
def _generate_producer_id(world: Brokers, broker: int) -> int:
    """The error, or NONE with an id given out; the next block is asked for when it is time."""
    ids = world.lifecycles[broker].producer_ids
    error, asks = producer_ids.generate_producer_id(ids, now_ms(world.context[0]))
    if asks:
        world.lifecycles[broker].producer_ids_made_us = world.context[0].time_us
        _send(world, broker)
    return error


@inner_rule
def _send(world: Brokers, broker: int) -> None:
    """Send the request for a block to the connected controller, else to the known leader.

    Source: NodeToControllerRequestThread.doWork and generateRequests@3.8.0.
    """
    flight = world.lifecycles[broker].producer_ids_request
    controller = flight.to if flight.to != NONE else known_leader(world, broker)
    if controller == NONE:
        _look_later(world, broker, _NO_CONTROLLER_US, _FALSE)
        return
    if flight.to == NONE and fails_to_authenticate(world, broker):
        _look_later(world, broker, 2 * shortest_latency_us(world, broker, controller), _TRUE)
        return
    request = AllocateProducerIdsRequest.to(world, controller)
    request.broker_id = broker
    request.broker_epoch = world.brokers[broker].broker_epoch
    depart(world, broker, flight, request)
    timeout_us = min(world.brokers[broker].controller_socket_timeout_ms * 1000, _RETRY_TIMEOUT_US)
    AllocateProducerIdsDue.after(world, timeout_us, number=flight.number)


@inner_rule
def _look_later(world: Brokers, broker: int, delay_us: int, failed: bool) -> None:
    """Keep the request, and look for a controller later; or it has failed by then."""
    state = world.lifecycles[broker]
    state.requests += 1
    state.producer_ids_request.number = state.requests
    AllocateProducerIdsDue.after(world, delay_us, number=state.requests, failed=failed)


@BROKER.handles(AllocateProducerIdsDue)
@inner_rule
def handle_allocate_producer_ids_due(world: Brokers, timer: AllocateProducerIdsDue) -> None:
    """Send the request again, unless it was answered since, or is too old."""
    broker = timer.destination
    state = world.lifecycles[broker]
    if state.producer_ids_request.number != timer.number or world.brokers[broker].ends:
        return
    state.producer_ids_request.to = NONE
    if timer.failed:
        _end_without_response(world, broker)
    elif world.context[0].time_us >= state.producer_ids_made_us + _RETRY_TIMEOUT_US:
        state.producer_ids_request.number = 0
        producer_ids.handle_allocate_producer_ids_timeout(state.producer_ids)
    else:
        _send(world, broker)


@inner_rule
def _end_without_response(world: Brokers, broker: int) -> None:
    """The request has failed to authenticate, and is not sent again (KAFKA-19990).

    Source: NodeToControllerRequestThread.handleResponse@3.8.0, RPCProducerIdManager.sendRequest
    @3.9.1, @4.1.1 and @4.4.0.
    """
    state = world.lifecycles[broker]
    state.producer_ids_request.number = 0
    rule = world.rules[broker].failed_allocation
    if rule == FAILED_ALLOCATION_EXITS:
        halt(world, broker, STOP_FAILED_ALLOCATION)
    elif rule == FAILED_ALLOCATION_RETRIED:
        producer_ids.handle_allocate_producer_ids_response(
            state.producer_ids, errors.NETWORK_EXCEPTION, now_ms(world.context[0])
        )


@inner_rule
def lose_allocation(world: Brokers, broker: int, process: int, until_us: int) -> None:
    """The connection to a controller is gone: requests sent to it up to ``until_us`` are lost."""
    flight = world.lifecycles[broker].producer_ids_request
    if is_lost(flight, process, until_us) and not world.brokers[broker].ends:
        _send_again(world, broker)


@inner_rule
def _send_again(world: Brokers, broker: int) -> None:
    """Send the same request to the leader that is known now: at once, if that is another one.

    Source: NodeToControllerRequestThread.handleResponse@3.8.0.
    """
    flight = world.lifecycles[broker].producer_ids_request
    former = flight.to
    flight.to = NONE
    is_new = known_leader(world, broker) not in (NONE, former)
    _look_later(world, broker, 0 if is_new else _RECONNECT_US, _FALSE)


@BROKER.handles(AllocateProducerIdsResponse)
@inner_rule
def handle_allocate_producer_ids_response(
    world: Brokers, response: AllocateProducerIdsResponse
) -> None:
    """Keep the block that the controller grants."""
    broker = response.destination
    state = world.lifecycles[broker]
    if response.correlation_id != state.producer_ids_request.number or world.brokers[broker].ends:
        return
    if response.error == errors.NOT_CONTROLLER:
        _send_again(world, broker)
        return
    state.producer_ids_request.number = 0
    producer_ids.handle_allocate_producer_ids_response(
        state.producer_ids, response.error, now_ms(world.context[0])
    )
