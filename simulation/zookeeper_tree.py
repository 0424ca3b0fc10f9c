"""The numbers of znodes: a few fixed ones, then a range for each sort, laid out once.

There are znodes for each broker, topic and partition; those for moving replicas and deleting
topics, if a step does either; those for failures of log directories, if one fails; and behind them
room for notifications.
"""

from tidegauge.compiled.rules import code, inner_rule, rule
from tidegauge.simulation.topology import Topology, number_ranges

# The fixed znodes.
CONTROLLER_ZNODE = code(0)
CONTROLLER_EPOCH_ZNODE = code(1)
BROKER_IDS_ZNODE = code(2)
TOPICS_ZNODE = code(3)
NOTIFICATIONS_ZNODE = code(4)
PREFERRED_ELECTION_ZNODE = code(5)
FIXED_ZNODES = code(6)

# The sorts of the others: places in ``Topology.tree_ranges``.
#: /brokers/ids/<id>
BROKERS = code(0)
#: /brokers/topics/<topic>
TOPICS = code(1)
#: /brokers/topics/<topic>/partitions/<partition>/state
STATES = code(2)
#: /admin/reassign_partitions
REASSIGNMENT = code(3)
#: /admin/delete_topics, and its children
DELETIONS = code(4)
TOPIC_DELETIONS = code(5)
#: /log_dir_event_notification, and a place among its children for each broker's directory
LOG_DIR_EVENTS = code(6)
LOG_DIR_EVENT = code(7)
#: Children of /isr_change_notification: as many as there is room for.
NOTIFICATIONS = code(8)
#: Their names, in this order.
SORTS = (
    *("broker", "topic", "state", "reassignment", "deletions", "topic_deletion"),
    *("log_dir_events", "log_dir_event", "notification"),
)

#: Their names in the directory of a run, in this order.
SORTS = (
    *("broker", "topic", "state", "reassignment", "deletions", "topic_deletion"),
    *("log_dir_events", "log_dir_event", "notification"),
)


def tree_ranges(
    brokers: int, topics: int, partitions: int, is_administered: bool, failing_directories: int
) -> tuple[range, ...]:
    """The numbers of each sort of znodes.

    Args: brokers: their number. topics: their number. partitions: their number. is_administered: a
    step moves replicas or deletes a topic. failing_directories: log directories that can fail; 0:
    none ever does.
    """
    counts = (
        *(brokers, topics, partitions),
        *((1, 1, topics) if is_administered else (0, 0, 0)),
        *((1, failing_directories) if failing_directories else (0, 0)),
        0,
    )
    return number_ranges(int(FIXED_ZNODES), counts)


@inner_rule
def is_in(world: Topology, sort: int, znode: int) -> bool:
    """Whether a znode is of a sort; of NOTIFICATIONS there are as many as one likes."""
    place = znode - world.tree_ranges[sort].first
    return place >= 0 and (place < world.tree_ranges[sort].count or sort == NOTIFICATIONS)


@inner_rule
def place_in(world: Topology, sort: int, znode: int) -> int:
    """The place of a znode among those of its sort."""
    return znode - world.tree_ranges[sort].first


@inner_rule
def is_administered(world: Topology) -> bool:
    """Whether a step moves replicas or deletes a topic: else there are no watches for that."""
    return world.tree_ranges[REASSIGNMENT].count > 0


@inner_rule
def directories_fail(world: Topology) -> bool:
    """Whether a log directory ever fails."""
    return world.tree_ranges[LOG_DIR_EVENTS].count > 0


@rule
def broker_znode(world: Topology, broker: int) -> int:
    """/brokers/ids/<id>."""
    return world.tree_ranges[BROKERS].first + broker


@rule
def topic_znode(world: Topology, topic: int) -> int:
    """/brokers/topics/<topic>."""
    return world.tree_ranges[TOPICS].first + topic


@rule
def state_znode(world: Topology, partition: int) -> int:
    """/brokers/topics/<topic>/partitions/<partition>/state."""
    return world.tree_ranges[STATES].first + partition


@rule
def reassign_partitions_znode(world: Topology) -> int:
    """/admin/reassign_partitions, if it is ever written."""
    return world.tree_ranges[REASSIGNMENT].first


@rule
def delete_topics_znode(world: Topology) -> int:
    """/admin/delete_topics."""
    return world.tree_ranges[DELETIONS].first


@rule
def topic_deletion_znode(world: Topology, topic: int) -> int:
    """/admin/delete_topics/<topic>."""
    return world.tree_ranges[TOPIC_DELETIONS].first + topic


@rule
def log_dir_events_znode(world: Topology) -> int:
    """/log_dir_event_notification, if a log directory ever fails."""
    return world.tree_ranges[LOG_DIR_EVENTS].first


@rule
def log_dir_event_znode(world: Topology, broker: int, directory: int) -> int:
    """/log_dir_event_notification/log_dir_event_<n>: the place of it for a broker's directory."""
    place = broker * world.sizes[0].log_directories + directory
    return world.tree_ranges[LOG_DIR_EVENT].first + place


@rule
def first_notification_znode(world: Topology) -> int:
    """The first of the znodes that become children of /isr_change_notification."""
    return world.tree_ranges[NOTIFICATIONS].first
