"""A broker as an observer of the quorum: it fetches the metadata log, one request after the other.

The response comes when more is committed, or after a while. Its entries are kept until a
publication takes them. A fetch that fails is sent again: the process begins at the beginning of
the log, and never reads a record twice.

Source: KafkaRaftClient.pollFollowerAsObserver and handleFetchResponse@4.1.0.
"""

from __future__ import annotations

from tidegauge.actors.metadata.metadata_publisher import publish
from tidegauge.actors.state.brokers import Brokers
from tidegauge.actors.state.handlers import BROKER
from tidegauge.compiled.rules import inner_rule
from tidegauge.replication import errors
from tidegauge.simulation.events import move_items, new_event, set_timer
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.links import send
from tidegauge.simulation.messages.quorum_timers import RaftFetchDue, RaftFetchGivesUp
from tidegauge.simulation.messages.raft_requests import RaftFetchRequest, RaftFetchResponse
from tidegauge.simulation.topology import active_controller_process


@inner_rule
def fetch_metadata(world: Brokers, broker: int) -> None:
    """Ask for what is behind the log that the broker has, unless it is being asked for."""
    state = world.lifecycles[broker]
    if state.fetch != 0 or world.brokers[broker].ends:
        return
    state.requests += 1
    state.fetch = state.requests
    state.fetch_sent_us = world.context[0].time_us
    controller = active_controller_process(world)
    request = new_event(world, broker, controller, RaftFetchRequest)
    request.correlation_id = state.fetch
    request.broker_id = broker
    request.fetch_offset = state.log_end_offset
    request.high_watermark = state.high_watermark
    send(world, request, state.fetch_sent_us)
    if not state.fetch_deadline_timer:
        _watch_deadline(world, broker)


@inner_rule
def _watch_deadline(world: Brokers, broker: int) -> None:
    state = world.lifecycles[broker]
    state.fetch_deadline_timer = True
    timer = new_event(world, broker, broker, RaftFetchGivesUp)
    set_timer(world, timer, state.fetch_sent_us + state.fetch_timeout_us)


@BROKER.handles(RaftFetchGivesUp)
@inner_rule
def handle_raft_fetch_gives_up(world: Brokers, timer: RaftFetchGivesUp) -> None:
    """The fetch in flight may have got no response in time."""
    broker = timer.destination
    state = world.lifecycles[broker]
    state.fetch_deadline_timer = False
    if state.fetch == 0:
        return
    if world.context[0].time_us < state.fetch_sent_us + state.fetch_timeout_us:
        _watch_deadline(world, broker)
    else:
        _fetch_again_later(world, broker)


@inner_rule
def lose_metadata_fetch(world: Brokers, broker: int, until_us: int) -> None:
    """The connection to the controller is gone: what was sent up to ``until_us`` is lost."""
    state = world.lifecycles[broker]
    if state.fetch != 0 and state.fetch_sent_us <= until_us:
        _fetch_again_later(world, broker)


@inner_rule
def _fetch_again_later(world: Brokers, broker: int) -> None:
    state = world.lifecycles[broker]
    state.fetch = 0
    timer = new_event(world, broker, broker, RaftFetchDue)
    set_timer(world, timer, world.context[0].time_us + state.fetch_backoff_us)


@BROKER.handles(RaftFetchDue)
@inner_rule
def handle_raft_fetch_due(world: Brokers, timer: RaftFetchDue) -> None:
    """The back-off after a failure is over."""
    fetch_metadata(world, timer.destination)


@BROKER.handles(RaftFetchResponse)
@inner_rule
def handle_raft_fetch_response(world: Brokers, response: RaftFetchResponse) -> None:
    """Keep what is committed for the next publication, and fetch again at once."""
    broker = response.destination
    state = world.lifecycles[broker]
    if response.correlation_id != state.fetch or world.brokers[broker].ends:
        return
    if response.error != errors.NONE:
        _fetch_again_later(world, broker)
        return
    state.fetch = 0
    state.leader_epoch = response.leader_epoch
    state.log_end_offset = max(state.log_end_offset, response.log_end_offset)
    state.high_watermark = max(state.high_watermark, response.high_watermark)
    if response.first_item != NONE:
        if state.pending == NONE:
            state.pending = new_event(world, broker, broker, RaftFetchResponse).index
        move_items(world, response, world.events[state.pending])
    publish(world, broker)
    fetch_metadata(world, broker)
