"""An entry in the table of metrics (``all_families.py``), and how a record declares its own.

A value that a rule reads off a run is a field of a record of gauges. The field is declared with its
metric, and that is all: its column, its scope and its place in the table follow ::

    class BrokerGauges(Gauges, scope=Scope.BROKER):
        leader_count: i64 = gauge(f"{_REPLICA_MANAGER}LeaderCount", "Partitions led here.")

A value that is computed from columns has its entry in a call of :func:`families_of`.
"""

from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from functools import partial
from typing import Any, ClassVar, Literal, NamedTuple

from numpy.typing import NDArray

from tidegauge.compiled.records import Record, RecordClass


class MBean(NamedTuple):
    """A value as JMX has it; a spelling (``metrics/spellings``) makes a series's name of it."""

    #: As JMX writes it. A key whose value is ``*`` is a label: each row of the scope has its own.
    object_name: str
    #: A Yammer gauge has ``Value``, a meter ``Count``; a group of Kafka's own metrics has an
    #: attribute for each.
    attribute: str = "Value"
    #: The value is a text: each row has it as a label, under the attribute's name.
    is_text: bool = False

    @property
    def domain(self) -> str:
        """The part before the colon, such as ``kafka.server``."""
        return self.object_name.partition(":")[0]

    @property
    def keys(self) -> dict[str, str]:
        """The keys of the name with their values, ``type`` first."""
        listed = self.object_name.partition(":")[2].split(",")
        return dict(key.split("=", 1) for key in listed)

    @property
    def row_labels(self) -> tuple[str, ...]:
        """The labels that each row has of its own."""
        own = tuple(key for key, value in self.keys.items() if value == "*")
        return (*own, self.attribute.replace("-", "_")) if self.is_text else own


#: The columns of a scope's rows (``samples/exposition.py``), by name.
Columns = Mapping[str, NDArray[Any]]

Expression = Callable[[Columns], NDArray[Any]]


class Scope(Enum):
    """The kinds of objects with a series of a metric; ``samples/exposition.py`` has their rows."""

    BROKER = "broker"
    BROKER_TOPIC = "topic at a broker"
    REQUEST = "type of request at a broker"
    REQUEST_ERROR = "type of request at a broker, and error"
    CONTROLLER_REQUEST = "type of request at a controller"
    CONTROLLER_REQUEST_ERROR = "type of request at a controller, and error"
    ZOOKEEPER_CLIENT = "broker with ZooKeeper"
    REPLICA = "replica at its broker"
    FETCHED_REPLICA = "replica that its broker fetches from another"
    ZOOKEEPER_BROKER = "broker in ZooKeeper mode"
    QUORUM_BROKER = "broker in KRaft mode"
    CONTROLLER = "controller"
    QUORUM_CONTROLLER = "controller in KRaft mode"
    RAFT = "broker or controller in KRaft mode"
    RAFT_STATE = "broker or controller in KRaft mode, with its state"
    CLUSTER = "cluster, for kafka_exporter"
    REGISTERED_BROKER = "registered broker"
    TOPIC = "topic"
    PARTITION = "partition"
    GROUP = "consumer group"
    GROUP_TOPIC = "topic that a group reads"
    GROUP_PARTITION = "partition that a group reads"
    METADATA = "cluster, as its control plane has it"
    ZOOKEEPER = "ZooKeeper"
    CLIENTS = "all clients"
    SIMULATION = "simulation"
    METRICS_LEVEL = "level of metrics"
    ACTOR = "actor"
    SCRAPED_TARGET = "target"


class Family(NamedTuple):
    """A metric: its subject, its meaning, and its expression over its scope's columns."""

    #: Kafka's MBean, which each spelling names in its own way; or the name of the samples, where
    #: that is the same in all of them: a counter's ends in ``_total``.
    measured: MBean | str
    kind: Literal["gauge", "counter"]
    scope: Scope
    #: A column, or an expression. A NaN has no sample, unless ``has_nan``.
    value: str | Expression
    #: One sentence.
    help: str
    #: The program that has it under this name.
    source: str = "Kafka"
    #: A column of flags, or an expression: selects the scope's rows that have a sample.
    where: str | Expression | None = None
    #: Labels that all its samples have; an MBean has such ones among its keys.
    labels: Mapping[str, str] = {}
    #: Whether the sum over a topic's partitions is meaningful.
    adds_up: bool = True
    #: Whether 0 may stand for omitted partitions: not where rules use the minimum.
    has_zeros: bool = True
    #: NaN is served, as Kafka does where it has no value to take the mean of.
    has_nan: bool = False
    #: The first release of Kafka that has it; "": all that are simulated.
    since: str = ""

    def values(self, columns: Columns) -> NDArray[Any]:
        """The value of each of the scope's rows."""
        return _read(self.value, columns)

    def shown(self, columns: Columns) -> NDArray[Any] | bool:
        """Flags of the scope's rows that have a sample."""
        return True if self.where is None else _read(self.where, columns)


def _read(expression: str | Expression, columns: Columns) -> NDArray[Any]:
    return columns[expression] if isinstance(expression, str) else expression(columns)


def gauge(
    measured: str, meaning: str, value: str | Expression = "", attribute: str = "Value", **more: Any
) -> Any:
    """The entry of a gauge. ``measured`` is an MBean's name, or the name of the samples.

    Without a ``value`` it is the column under whose name the entry stands; ``more`` are fields of
    :class:`Family`. The result is ``Any`` as it stands where a field has its default.
    """
    return _entry("gauge", measured, attribute, meaning, value, more)


def counter(
    measured: str, meaning: str, value: str | Expression = "", attribute: str = "Count", **more: Any
) -> Any:
    """The entry of a counter, as :func:`gauge`."""
    return _entry("counter", measured, attribute, meaning, value, more)


def _entry(
    kind: Literal["gauge", "counter"],
    measured: str,
    attribute: str,
    meaning: str,
    value: Any,
    more: dict[str, Any],
) -> partial[Family]:
    bean = MBean(measured, attribute) if ":type=" in measured else measured
    if isinstance(bean, str):
        more.setdefault(
            "source", "Tidegauge" if bean.startswith("tidegauge_") else "kafka_exporter"
        )
    if value:
        more["value"] = value
    return partial(Family, bean, kind, help=meaning, **more)


def families_of(
    scope: Scope, *computed: partial[Family], **columns: partial[Family]
) -> Iterator[Family]:
    """The metrics of a scope: computed ones, and those of columns by name."""
    named = [("", entry) for entry in computed] + list(columns.items())
    for column, entry in named:
        place: dict[str, Any] = {"scope": scope, "value": column}
        yield Family(*entry.args, **(place | entry.keywords))


class _GaugesClass(RecordClass):
    """The class of classes of gauges: it takes the metrics of fields out of the class."""

    def __new__(
        cls,
        name: str,
        bases: tuple[type, ...],
        namespace: dict[str, Any],
        scope: Scope | None = None,
        **options: Any,
    ) -> RecordClass:
        """Make a class of gauges, whose metrics are of this scope."""
        own = {field: it for field, it in namespace.items() if isinstance(it, partial)}
        for field in own:
            del namespace[field]
        assert scope is not None or not own, f"{name} has metrics and no scope"
        namespace["families"] = () if scope is None else tuple(families_of(scope, **own))
        return super().__new__(cls, name, bases, namespace, **options)


class Gauges(Record, metaclass=_GaugesClass):
    """An object as a scrape sees it at one moment: its fields, some of them metrics.

    A group fills in its own processes, at the end of a window (``snapshots/snapshot.py``); nothing
    in a run reads it, so that a scrape cannot change the run. Counters are those of a process, as
    JMX has them: they begin at 0 with each start of the broker.
    """

    families: ClassVar[tuple[Family, ...]]
