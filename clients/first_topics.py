"""The topics that are there from the beginning: the operator creates them.

It waits until all brokers that are up are live. With ZooKeeper it watches them, and does not wait
for responses; it polls a quorum's controller, and repeats requests that have no response after a
while.
"""

from tidegauge.clients.admin_requests import (
    CREATES_TOPIC,
    DELETES_TOPIC,
    create_topic,
    create_topic_by_request,
)
from tidegauge.clients.client_metadata import client_of
from tidegauge.clients.client_state import Client, Clients
from tidegauge.clients.control_plane_requests import ANSWER_US, STEPS, ask_live_brokers, live_count
from tidegauge.compiled.rules import code, inner_rule
from tidegauge.replication import errors
from tidegauge.simulation.messages.quorum_requests import AdminResponse
from tidegauge.simulation.messages.timers import StepLooks
from tidegauge.simulation.topology import is_kraft

#: Number of the question whether all brokers are there.
OF_TOPICS = code(0)
#: The period in which the operator polls a condition that cannot be watched.
LOOK_PERIOD_US = code(100_000)


@inner_rule
def ask_for_topics(world: Clients, process: int) -> None:
    """Wait until all brokers that are up are live, to create the topics then."""
    ask_live_brokers(world, process, STEPS, OF_TOPICS)
    if is_kraft(world):
        _look_at_topics(world, process, LOOK_PERIOD_US)


@inner_rule
def _look_at_topics(world: Clients, process: int, delay_us: int) -> None:
    rounds = world.clients[client_of(world, process)].topic_rounds
    StepLooks.after(world, delay_us, question=OF_TOPICS, step=rounds)


@inner_rule
def create_topics(world: Clients, client: Client, process: int) -> None:
    """Create the topics that no step creates, as soon as all brokers that are up are live.

    A request that a quorum's controller has not answered after a while is sent once more.
    """
    if live_count(world) < world.pool[0].brokers_awaited:
        return
    client.topics_created = True
    client.topic_rounds += 1
    client.topics_awaited = 0
    for topic in range(world.sizes[0].topics):
        if _a_step_creates(world, topic):
            continue
        if is_kraft(world):
            create_topic_by_request(world, topic, process)
        else:
            create_topic(world, topic)
    if client.topics_awaited > 0:
        _look_at_topics(world, process, ANSWER_US)


@inner_rule
def _a_step_creates(world: Clients, topic: int) -> bool:
    """Whether it is not there from the start on: the first step about its being creates it."""
    for number in range(world.pool[0].steps):
        step = world.steps[number]
        if step.action in (CREATES_TOPIC, DELETES_TOPIC) and step.topic == topic:
            return step.action == CREATES_TOPIC
    return False


@inner_rule
def look_again_at_topics(world: Clients, timer: StepLooks) -> None:
    """Ask again, if topics are still to be created, or requests have got no response."""
    client = world.clients[client_of(world, timer.destination)]
    if client.topics_awaited > 0 and timer.step == client.topic_rounds:
        client.topics_created = False
    if not client.topics_created:
        ask_for_topics(world, timer.destination)


@inner_rule
def count_topic_response(client: Client, response: AdminResponse) -> None:
    """Count the response to the creation of a topic, if it is one of the newest round."""
    if response.correlation_id == -client.topic_rounds and (
        response.error != errors.NOT_CONTROLLER
    ):
        client.topics_awaited -= 1
