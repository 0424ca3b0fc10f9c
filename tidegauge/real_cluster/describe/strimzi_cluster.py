"""The nodes that Strimzi's operator makes of the resources of a cluster.

Each node gets the server.properties that the operator would write, as far as a scenario takes it:
its id, its roles, its rack, its log directories, and the settings in ``spec.kafka.config``. Node
ids are those of ``status``. A pool without them gets the free ids in turn, pool by pool in the
order of their names, or those in the annotation strimzi.io/next-node-ids.

Resources do not have the racks of nodes: these are assumed, and so are nodes without a pool.

Source: NodeIdAssignor, NodeIdRange, KafkaClusterSpec.FORBIDDEN_PREFIXES, Strimzi 1.2.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, count, cycle
from typing import Any, NamedTuple

from tidegauge.real_cluster.describe.input_file import Notices, named
from tidegauge.real_cluster.describe.server_properties import Property, ServerProperties
from tidegauge.real_cluster.describe.strimzi_resources import (
    Config,
    KafkaSpec,
    KafkaTopicSpec,
    NodePoolSpec,
    Resource,
    Storage,
    StrimziResources,
)
from tidegauge.replication.release_versions import KRAFT_MODE, ZOOKEEPER_MODE, Mode
from tidegauge.scenario.text.errors import counted

_BROKER, _CONTROLLER = "broker", "controller"
#: Nodes of each role, and zones, of which the files have no number.
_ASSUMED_NODES = 3
_ASSUMED_ZONES = 3
REPLICATION_FACTOR = "default.replication.factor"
_NEXT_IDS = "strimzi.io/next-node-ids"
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"

#: Settings that the operator writes itself: it ignores those of a resource that begin so, but for
#: some.
_KEPT_BY_OPERATOR = (
    *("listeners", "advertised.", "broker.", "listener.", "host.name", "port"),
    *("inter.broker.listener.name", "sasl.", "ssl.", "security.", "password.", "log.dir"),
    *("zookeeper.connect", "zookeeper.set.acl", "zookeeper.ssl", "zookeeper.clientCnxnSocket"),
    *("authorizer.", "super.user", "cruise.control.metrics.topic", "node.id", "process.roles"),
    *("cruise.control.metrics.reporter.bootstrap.servers", "controller.", "metadata.log.dir"),
    *("zookeeper.metadata.migration.enable", "client.quota.callback.static.kafka.admin."),
    *("client.quota.callback.static.produce", "client.quota.callback.static.fetch"),
    "client.quota.callback.static.storage.per.volume.limit.min.available.",
    "client.quota.callback.static.excluded.principal.name.list",
    *("prometheus.metrics.reporter.", "cordoned.log.dirs"),
)
_FREE_ALL_THE_SAME = (
    *("zookeeper.connection.timeout.ms", "sasl.server.max.receive.size", "ssl.cipher.suites"),
    *("ssl.protocol", "ssl.enabled.protocols", "ssl.secure.random.implementation"),
    *("cruise.control.metrics.topic.", "broker.session.timeout.ms", "broker.heartbeat.interval.ms"),
    *("controller.socket.timeout.ms", "controller.quorum.election.backoff.max.ms"),
    *("controller.quorum.election.timeout.ms", "controller.quorum.fetch.timeout.ms"),
)


@dataclass
class StrimziCluster:
    """The cluster of some resources, in the form of other input."""

    #: The files of the nodes, as the operator writes them.
    files: list[ServerProperties]
    #: The rack of each broker, "" if it has none.
    rack_of: dict[int, str]
    #: The settings of all nodes.
    config: dict[str, Property]
    mode: Mode
    #: spec.kafka.version and metadataVersion, if they are there.
    release: Property | None
    metadata_version: Property | None
    notices: Notices


@dataclass
class _Pool:
    """Nodes that are alike."""

    resource: Resource
    name: str
    roles: Sequence[str]
    storage: Storage | None
    node_ids: list[int]
    #: The zones in which its pods may run, if its affinity names them.
    zones: list[str] = field(default_factory=list)


class _Node(NamedTuple):
    node_id: int
    pool: _Pool
    zone: str | None


def strimzi_cluster(resources: StrimziResources) -> StrimziCluster:
    """The cluster that the operator makes of these resources.

    Raises:
        InputError: a resource contradicts itself or another one.
    """
    kafka, notices = resources.kafka, Notices(resources.notices)
    spec = kafka.spec(KafkaSpec)
    annotated = kafka.metadata.annotations.get("strimzi.io/kraft")
    is_kraft = spec.zookeeper is None or annotated == "enabled"
    config = _config(kafka, spec.kafka.config, notices)
    pools = _pools(resources, config, notices, is_kraft=is_kraft)
    nodes = _nodes(resources, pools, notices)
    rack_of = {each.node_id: each.zone or "" for each in nodes if _BROKER in each.pool.roles}
    if not rack_of:
        message = "has no broker: all pools are of controllers, or empty"
        raise kafka.error(("spec", "kafka"), message)
    return StrimziCluster(
        [_server_properties(each, nodes, config, is_kraft=is_kraft) for each in nodes],
        rack_of,
        config,
        KRAFT_MODE if is_kraft else ZOOKEEPER_MODE,
        _version(kafka, "version", spec.kafka.version),
        _version(kafka, "metadataVersion", spec.kafka.metadata_version) if is_kraft else None,
        notices,
    )


def _version(kafka: Resource, name: str, text: str | None) -> Property | None:
    return Property(text, kafka.file, kafka.line("spec", "kafka", name)) if text else None


def _config(kafka: Resource, config: Config, notices: Notices) -> dict[str, Property]:
    """The settings of all nodes."""
    written = {}
    ignored = []
    for name, value in config.items():
        path = ("spec", "kafka", "config", name)
        if name.startswith(_KEPT_BY_OPERATOR) and not name.startswith(_FREE_ALL_THE_SAME):
            ignored.append(name)
        else:
            written[name] = Property(text_of(kafka, path, value), kafka.file, kafka.line(*path))
    notices.name("settings", "left out, as Strimzi's operator ignores them", ignored)
    return written


def text_of(resource: Resource, path: tuple[str, ...], value: object) -> str:
    """The text of a value in server.properties."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return ",".join(text_of(resource, path, each) for each in value)
    if isinstance(value, dict):
        raise resource.error(path, "must be a value, not a mapping")
    return str(value)


def _pools(
    resources: StrimziResources, config: Mapping[str, Property], notices: Notices, *, is_kraft: bool
) -> list[_Pool]:
    """The pools of nodes with their ids."""
    kafka, cluster = resources.kafka, resources.kafka.spec(KafkaSpec).kafka
    if resources.pools:
        pools = _pools_of_resources(resources.pools, cluster.storage)
        # Controllers of a cluster that is being migrated from ZooKeeper have no part yet.
        return [each for each in pools if is_kraft or _BROKER in each.roles]
    brokers = cluster.replicas
    if brokers is None:
        brokers = max(_ASSUMED_NODES, *_replication_factors(resources, config))
        notices.add("brokers", f"no KafkaNodePool is in the files: assumed are {brokers} brokers")
    pools = [_Pool(kafka, "kafka", [_BROKER], cluster.storage, [*range(brokers)])]
    if is_kraft:
        ids = [*range(brokers, brokers + _ASSUMED_NODES)]
        pools.append(_Pool(kafka, "controllers", [_CONTROLLER], None, ids))
        notices.add(
            "controllers",
            f"no KafkaNodePool is in the files: assumed are {len(ids)} controllers, on nodes of "
            "their own",
        )
    return pools


def _replication_factors(
    resources: StrimziResources, config: Mapping[str, Property]
) -> Iterator[int]:
    """The numbers of replicas in the files: there are as many brokers at least."""
    yield number_of(config, REPLICATION_FACTOR) or 1
    for each in resources.topics:
        yield each.spec(KafkaTopicSpec).replicas or 1


def number_of(config: Mapping[str, Property], name: str) -> int | None:
    """The value of a setting; None if there is none, or it is no number of this size."""
    written = config.get(name)
    return int(written.text) if written and re.fullmatch("[1-9][0-9]{0,4}", written.text) else None


def _pools_of_resources(resources: Sequence[Resource], storage: Storage | None) -> list[_Pool]:
    """The pools of resources, in the order in which Kubernetes lists them."""
    in_order = sorted(resources, key=lambda each: each.metadata.name)
    used = set(chain.from_iterable(map(_ids_in_use, in_order)))
    pools = []
    for each in in_order:
        spec = each.spec(NodePoolSpec)
        ids = _ids_in_use(each)
        free = (node_id for node_id in chain(_next_ids(each), count()) if node_id not in used)
        for _ in range(0 if ids else spec.replicas):
            ids.append(next(free))
            used.add(ids[-1])
        name = each.metadata.name
        zones = [*_zones_of_affinity(spec.template)]
        pools.append(_Pool(each, name, spec.roles, spec.storage or storage, sorted(ids), zones))
    return pools


def _ids_in_use(pool: Resource) -> list[int]:
    """The ids of the nodes that a pool has, by its status."""
    status = pool.data.get("status")
    ids = status.get("nodeIds") if isinstance(status, dict) else None
    return [each for each in ids if isinstance(each, int)] if isinstance(ids, list) else []


def _next_ids(pool: Resource) -> Iterator[int]:
    """The ids in the annotation of a pool, such as [0-9, 20]."""
    text = str(pool.metadata.annotations.get(_NEXT_IDS, ""))
    for first, last in re.findall(r"(\d{1,9})(?:\s*-\s*(\d{1,9}))?", text, re.ASCII):
        yield from range(int(first), int(last or first) + 1)


def _zones_of_affinity(template: Any) -> Iterator[str]:
    """The zones in which the pods of a pool may run, by their affinity for nodes."""
    place = template
    for name in ("pod", "affinity", "nodeAffinity", _REQUIRED, "nodeSelectorTerms"):
        place = place.get(name) if isinstance(place, dict) else None
    for term in place if isinstance(place, list) else ():
        for each in term.get("matchExpressions", ()) if isinstance(term, dict) else ():
            if "zone" in str(each.get("key")) and each.get("operator") == "In":
                yield from map(str, each.get("values", ()))


def _nodes(resources: StrimziResources, pools: Sequence[_Pool], notices: Notices) -> list[_Node]:
    """The nodes of all pools, brokers in their zones."""
    rack = resources.kafka.spec(KafkaSpec).kafka.rack
    number = min(_ASSUMED_ZONES, sum(len(each.node_ids) for each in pools if _BROKER in each.roles))
    assumed = cycle(f"zone-{place}" for place in range(1, number + 1))
    nodes = []
    unknown = []
    for pool in pools:
        zones = cycle(pool.zones) if pool.zones else assumed
        is_placed = rack is not None and _BROKER in pool.roles
        nodes += [_Node(each, pool, next(zones) if is_placed else None) for each in pool.node_ids]
        if is_placed and not pool.zones:
            unknown += pool.node_ids
    if rack is not None and unknown:
        notices.add(
            "brokers",
            f"racks are the values of {rack.topology_key or rack.variable}, which the files do not "
            f"have: assumed are {counted(number, 'zone')} for brokers {named(unknown)}, in turn: "
            "change `racks` to correct that",
        )
    ephemeral = [each.name for each in pools if each.storage and each.storage.is_ephemeral]
    notices.name(
        "logs",
        "storage is ephemeral, so a pod that is deleted loses its logs; here a broker that returns "
        "has them, as after a restart of its container",
        ephemeral,
    )
    return nodes


def _server_properties(
    node: _Node, nodes: Sequence[_Node], config: Mapping[str, Property], *, is_kraft: bool
) -> ServerProperties:
    """The file of a node, as the operator writes it."""
    pool = node.pool
    texts = {"log.dirs": ",".join(_log_dirs(pool.storage))}
    if node.zone:
        texts["broker.rack"] = node.zone
    if is_kraft:
        voters = (each.node_id for each in nodes if _CONTROLLER in each.pool.roles)
        texts["node.id"] = str(node.node_id)
        texts["process.roles"] = ",".join(sorted(pool.roles))
        texts["controller.quorum.voters"] = ",".join(f"{each}@{each}:9090" for each in voters)
    else:
        texts["broker.id"] = str(node.node_id)
    line = pool.resource.line("spec")
    own = {name: Property(text, pool.resource.file, line) for name, text in texts.items()}
    return ServerProperties(pool.resource.file, {**config, **own})


def _log_dirs(storage: Storage | None) -> Iterator[str]:
    for volume in range(storage.log_directories if storage else 1):
        yield f"/var/lib/kafka/data-{volume}"
