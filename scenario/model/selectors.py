"""Selectors: the processes that a fault hits, or that stand at the ends of the links that it hits.

===================  ====================================================================
``2``                the host of broker 2: the broker and, with ZooKeeper, its controller
``broker:2``         the broker without its controller
``controller:2``     with ZooKeeper the controller of broker 2 alone; with KRaft the third
                     controller of the quorum
``rack:b``           all hosts in rack b; with KRaft its controllers, too
``zookeeper``        ZooKeeper
``controllers``      all controllers of a KRaft cluster
``clients``          all clients
``client:shop``      the clients of the group shop
===================  ====================================================================
"""

from typing import Annotated, NamedTuple

from pydantic import AfterValidator, Field, PlainSerializer, PlainValidator, WithJsonSchema

from tidegauge.scenario.model.parts import Some

HOST = "host"
BROKER = "broker"
CONTROLLER = "controller"
RACK = "rack"
ZOOKEEPER = "zookeeper"
CONTROLLERS = "controllers"
CLIENTS = "clients"
CLIENT_GROUP = "client"
#: No selector selects the operator.
OPERATOR = "operator"


#: Selectors that are a word alone.
_WHOLE = (ZOOKEEPER, CONTROLLERS, CLIENTS)


class Selector(NamedTuple):
    """The target of a fault."""

    #: HOST, BROKER, CONTROLLER, RACK, ZOOKEEPER, CONTROLLERS, CLIENTS or CLIENT_GROUP.
    kind: str
    #: Id of the broker, if it selects one by id; of a controller of KRaft its number, from 0 on.
    broker: int = -1
    #: Name of the rack or of the group.
    name: str = ""

    @property
    def selects_brokers(self) -> bool:
        """Whether it selects brokers."""
        return self.kind in {HOST, BROKER, RACK}

    def __str__(self) -> str:
        if self.kind == HOST:
            return str(self.broker)
        if self.kind in _WHOLE:
            return self.kind
        return f"{self.kind}:{self.name}" if self.name else f"{self.kind}:{self.broker}"


class LinkEnd(NamedTuple):
    """A process that a fault hits, or at the end of a link that it hits."""

    #: BROKER, CONTROLLER, ZOOKEEPER, CLIENT_GROUP (one client of a group) or OPERATOR.
    kind: str
    #: Id of the broker, also of one whose controller it is; of a controller of KRaft its number.
    broker: int = -1
    #: Name of the client's group.
    group: str = ""
    #: The client's number in the group, from 0 on.
    client: int = -1


def _selector(written: object) -> Selector:
    if isinstance(written, Selector):
        return written
    if isinstance(written, int) and not isinstance(written, bool) and written >= 0:
        return Selector(HOST, broker=written)
    if isinstance(written, str):
        kind, colon, name = written.partition(":")
        if not colon and kind in _WHOLE:
            return Selector(kind)
        if kind in {BROKER, CONTROLLER} and name.isascii() and name.isdigit():
            return Selector(kind, broker=int(name))
        if kind in {RACK, CLIENT_GROUP} and name:
            return Selector(kind, name=name)
    raise ValueError(
        "must be a broker's id, broker:ID, controller:ID, rack:NAME, zookeeper, controllers, "
        f"clients or client:GROUP, not {written!r}"
    )


def as_written(selector: Selector) -> int | str:
    """The text of a selector in a scenario."""
    return selector.broker if selector.kind == HOST else str(selector)


def _brokers_only(selector: Selector) -> Selector:
    if not selector.selects_brokers:
        raise ValueError(f"must be a broker's id, broker:ID or rack:NAME, not {selector}")
    return selector


def _servers_only(selector: Selector) -> Selector:
    if not selector.selects_brokers and selector.kind not in {CONTROLLER, CONTROLLERS}:
        raise ValueError(
            "must be a broker's id, broker:ID, rack:NAME, controller:NUMBER or controllers, "
            f"not {selector}"
        )
    return selector


def _machines_only(selector: Selector) -> Selector:
    if selector.kind == BROKER:
        raise ValueError(
            "must be a broker's id, rack:NAME, controller:NUMBER, controllers, zookeeper, clients "
            f"or client:GROUP, not {selector}"
        )
    return selector


def _processes_only(selector: Selector) -> Selector:
    if selector.kind in {HOST, RACK}:
        raise ValueError(
            "must be broker:ID, controller:ID, zookeeper, controllers, clients or client:GROUP, "
            f"not {selector}"
        )
    return selector


_SELECTOR_SCHEMA = {
    "anyOf": [
        {"type": "integer", "minimum": 0},
        {
            "type": "string",
            "pattern": (
                "^(zookeeper|controllers|clients|(broker|controller):[0-9]+|(rack|client):.+)$"
            ),
        },
    ],
    "examples": [
        *(2, "rack:b", "broker:2", "controller:2", "zookeeper", "controllers"),
        *("clients", "client:shop"),
    ],
}
SelectorField = Annotated[
    Selector,
    PlainValidator(_selector),
    PlainSerializer(as_written),
    WithJsonSchema(_SELECTOR_SCHEMA),
]
BrokerSelector = Annotated[SelectorField, AfterValidator(_brokers_only)]
#: Brokers, and controllers of KRaft.
ServerSelector = Annotated[SelectorField, AfterValidator(_servers_only)]
MachineSelector = Annotated[SelectorField, AfterValidator(_machines_only)]
#: One process, or processes of one role, and no machine with several.
ProcessSelector = Annotated[SelectorField, AfterValidator(_processes_only)]
#: The two ends of links.
Ends = Annotated[tuple[Some[SelectorField], Some[SelectorField]], Field(strict=False)]
