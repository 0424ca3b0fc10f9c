"""The resources of a cluster that Strimzi runs: Kafka, KafkaNodePool and KafkaTopic, in YAML.

They are as people keep them in a repository, or as ``kubectl get kafka,kafkanodepool,kafkatopic -o
yaml`` prints them, in one file or several. All versions of their API, v1alpha1 to v1, have the same
form in the parts that are read here. Other resources in the files are left out, with a notice.

Source: KafkaSpec, KafkaClusterSpec, KafkaNodePoolSpec, KafkaTopicSpec and their storage, Strimzi
0.8 to 1.2.
"""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from tidegauge.real_cluster.describe.input_file import InputError, Notices, file_text, input_error
from tidegauge.scenario.text.errors import Path as ModelPath
from tidegauge.scenario.text.errors import ScenarioError, path_text, problems_in
from tidegauge.scenario.text.yaml_file import ScenarioFile, read_documents

_API = "kafka.strimzi.io/"
#: A line that any resource of Kubernetes has, in YAML or in JSON.
_OF_KUBERNETES = re.compile(r"""^[\s{\[-]*["']?apiVersion["']?\s*:""", re.MULTILINE)
#: The label by which a node pool or a topic belongs to a cluster.
CLUSTER_LABEL = "strimzi.io/cluster"


def is_yaml(file: Path, text: str) -> bool:
    """Whether a file is meant as YAML: by its name, or as a resource of Kubernetes."""
    return file.suffix in (".yaml", ".yml") or bool(_OF_KUBERNETES.search(text))


class _Part(BaseModel):
    """A part of a resource. Keys without a field are kept, to be named."""

    model_config = ConfigDict(extra="allow", strict=True)

    #: Keys that Strimzi knows and of which nothing is simulated.
    unread: ClassVar[frozenset[str]] = frozenset()
    #: Those that no simulation of replication could use: they are not named.
    ignored: ClassVar[frozenset[str]] = frozenset()

    def other_keys(self, path: str, *, known: bool) -> Iterator[str]:
        """The paths of keys that are not read: those that Strimzi knows, or all others."""
        for name in sorted((self.model_extra or {}).keys() - self.ignored):
            if (name in self.unread) is known:
                yield f"{path}.{name}"
        for name, field in type(self).model_fields.items():
            part = getattr(self, name)
            for each in part if isinstance(part, list) else [part]:
                if isinstance(each, _Part):
                    yield from each.other_keys(f"{path}.{field.alias or name}", known=known)


def _as_text(value: object) -> object:
    """A version as text: 3.9 without quotes is a number in YAML."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return str(value) if is_number else value


_Text = Annotated[str, BeforeValidator(_as_text)]
_Replicas = Annotated[int, Field(ge=0, le=10_000)]
#: Names of settings, with values of any kind.
Config = dict[str, Any]


class _Volume(_Part):
    unread: ClassVar[frozenset[str]] = frozenset({"size", "sizeLimit"})
    ignored: ClassVar[frozenset[str]] = frozenset(
        {
            *("id", "class", "volumeAttributesClass", "selector", "deleteClaim", "kraftMetadata"),
            "overrides",
        }
    )
    type: Literal["ephemeral", "persistent-claim"]


class Storage(_Volume):
    """The disks of a node."""

    type: Literal["ephemeral", "persistent-claim", "jbod"]  # type: ignore[assignment]
    volumes: list[_Volume] = []

    @property
    def log_directories(self) -> int:
        """The number of log directories: one for each volume."""
        return len(self.volumes) or 1

    @property
    def is_ephemeral(self) -> bool:
        """Whether logs are gone with their pod."""
        return "ephemeral" in {each.type for each in (self, *self.volumes)}


class Rack(_Part):
    """The label of a Kubernetes node, or the variable, that has the rack of a broker."""

    ignored: ClassVar[frozenset[str]] = frozenset({"type"})
    topology_key: str = Field(default="", alias="topologyKey")
    variable: str = Field(default="", alias="envVarName")


class KafkaCluster(_Part):
    """``spec.kafka`` of a Kafka."""

    unread: ClassVar[frozenset[str]] = frozenset(
        {
            *("image", "listeners", "authorization", "brokerRackInitImage", "livenessProbe"),
            *("readinessProbe", "jvmOptions", "jmxOptions", "resources", "metricsConfig"),
            *("metrics", "logging", "template", "tieredStorage", "quotas", "affinity"),
            *("tolerations", "tlsSidecar", "clusterSecurity"),
        }
    )
    version: _Text | None = None
    metadata_version: _Text | None = Field(default=None, alias="metadataVersion")
    #: Nodes, where none of them is in a pool.
    replicas: _Replicas | None = None
    config: Config = {}
    rack: Rack | None = None
    storage: Storage | None = None


class KafkaSpec(_Part):
    """``spec`` of a Kafka."""

    unread: ClassVar[frozenset[str]] = frozenset(
        {
            *("entityOperator", "topicOperator", "clusterCa", "clientsCa", "cruiseControl"),
            *("jmxTrans", "kafkaExporter", "maintenanceTimeWindows"),
        }
    )
    kafka: KafkaCluster
    zookeeper: dict[str, Any] | None = None


class NodePoolSpec(_Part):
    """``spec`` of a KafkaNodePool."""

    unread: ClassVar[frozenset[str]] = frozenset({"resources", "jvmOptions"})
    replicas: _Replicas
    roles: list[Literal["broker", "controller"]]
    storage: Storage | None = None
    template: dict[str, Any] = {}


class KafkaTopicSpec(_Part):
    """``spec`` of a KafkaTopic."""

    topic_name: str | None = Field(default=None, alias="topicName")
    partitions: Annotated[int, Field(ge=1)] | None = None
    replicas: Annotated[int, Field(ge=-1)] | None = None
    config: Config = {}


class Metadata(BaseModel):
    """The metadata of a resource."""

    model_config = ConfigDict(strict=True)

    name: str
    labels: dict[str, Any] = {}
    annotations: dict[str, Any] = {}


_Spec = TypeVar("_Spec", bound=_Part)
_Model = TypeVar("_Model", bound=BaseModel)


@dataclass(frozen=True)
class Resource:
    """A resource, and its place."""

    file: Path
    document: ScenarioFile
    #: The place in the document: that of an item, if the document is a List.
    path: ModelPath
    data: dict[str, Any]

    @property
    def kind(self) -> str:
        """The kind of the resource."""
        return str(self.data.get("kind"))

    @property
    def title(self) -> str:
        """The kind and the name, for notices."""
        return f"{self.kind} {self.metadata.name}"

    @property
    def metadata(self) -> Metadata:
        """The metadata; an ``InputError`` if there is no name."""
        return self._parsed(Metadata, "metadata")

    def spec(self, model: type[_Spec]) -> _Spec:
        """The specification; an ``InputError`` if it has another form."""
        return self._parsed(model, "spec")

    def line(self, *path: str) -> int:
        """The line of a value, or of the last part of its path that exists."""
        return self.document.line_of((*self.path, *path)) or 1

    def error(self, path: ModelPath, message: str) -> InputError:
        """The error to raise about a value."""
        line = self.document.line_of((*self.path, *path))
        return input_error(self.file, line, f"{self.kind}: {path_text(path)}: {message}")

    def _parsed(self, model: type[_Model], part: str) -> _Model:
        if part not in self.data:
            raise self.error((part,), "is missing")
        data = _without_nulls(self.data[part])
        try:
            return model.model_validate(data)
        except ValidationError as error:
            problem = problems_in(error, data)[0]
            raise self.error((part, *problem.path), problem.message) from error


def _without_nulls(data: Any) -> Any:
    """The same without keys that have no value: Kubernetes takes them for missing."""
    if isinstance(data, dict):
        return {key: _without_nulls(value) for key, value in data.items() if value is not None}
    return [_without_nulls(each) for each in data] if isinstance(data, list) else data


@dataclass(frozen=True)
class StrimziResources:
    """The resources of one cluster."""

    kafka: Resource
    pools: Sequence[Resource]
    topics: Sequence[Resource]
    notices: Notices


def strimzi_resources(documents: Sequence[tuple[Path, str]]) -> StrimziResources:
    """The resources of a cluster in files, of which these are the names and the texts.

    Raises:
        TidegaugeError: a file is no YAML, or the resources are not of one cluster.
    """
    every = [each for file, text in documents for each in _resources_of(file, text)]
    by_kind = {
        kind: [
            each for each in every if each.kind == kind and each.data["apiVersion"].startswith(_API)
        ]
        for kind in ("Kafka", "KafkaNodePool", "KafkaTopic")
    }
    if not by_kind["Kafka"]:
        kinds = ", ".join(dict.fromkeys(each.kind for each in every)) or "no resource"
        message = f"has no Kafka of Strimzi (apiVersion: {_API}...), but {kinds}"
        raise input_error(documents[0][0], None, message)
    first, *others = by_kind["Kafka"]
    for other in others:
        message = f"is a second cluster beside {first.metadata.name}, in {file_text(first.file)}"
        raise other.error(("metadata", "name"), f"{other.metadata.name} {message}: import one")
    notices = Notices()
    name = first.metadata.name
    pools = [*_of_cluster(by_kind["KafkaNodePool"], name, notices)]
    topics = [*_of_cluster(by_kind["KafkaTopic"], name, notices)]
    left = dict.fromkeys(
        each.kind
        for each in every
        if each.kind not in by_kind or not each.data["apiVersion"].startswith(_API)
    )
    notices.name("input", "resources of other kinds are left out", left)
    _name_other_keys(first, pools, topics, notices)
    return StrimziResources(first, pools, topics, notices)


def _resources_of(file: Path, text: str) -> Iterator[Resource]:
    """The resources of a file; those of a List one by one."""
    for document in _documents(file, text):
        data = document.data
        if not isinstance(data, dict) or not isinstance(data.get("apiVersion"), str):
            line = document.root.start_mark.line + 1
            message = "is YAML, but no resource of Kubernetes: it has no apiVersion"
            raise input_error(file, line, message)
        if data.get("kind") != "List":
            yield Resource(file, document, (), data)
            continue
        for place, item in enumerate(data.get("items") or ()):
            if isinstance(item, dict) and isinstance(item.get("apiVersion"), str):
                yield Resource(file, document, ("items", place), item)


def _documents(file: Path, text: str) -> list[ScenarioFile]:
    try:
        return read_documents(file, text)
    except ScenarioError as error:
        if "{{" in text:
            message = "is a template of Helm, no YAML: import the output of `helm template`"
            raise input_error(file, None, message) from error
        raise


def _of_cluster(resources: Collection[Resource], name: str, notices: Notices) -> Iterator[Resource]:
    """The resources of a cluster by their label; those without one are taken for its own."""
    others = []
    for each in resources:
        if each.metadata.labels.get(CLUSTER_LABEL, name) == name:
            yield each
        else:
            others.append(each.title)
    notices.name("input", f"resources of other clusters than {name} are left out", others)


def _name_other_keys(
    kafka: Resource, pools: Sequence[Resource], topics: Sequence[Resource], notices: Notices
) -> None:
    """Name the keys that are not read."""
    specs = [
        ("Kafka", kafka.spec(KafkaSpec)),
        *(("KafkaNodePool", each.spec(NodePoolSpec)) for each in pools),
        *(("KafkaTopic", each.spec(KafkaTopicSpec)) for each in topics),
    ]
    for text, known in (
        ("keys that are not simulated", True),
        ("keys that Strimzi does not know, without effect", False),
    ):
        paths = [
            path for kind, spec in specs for path in spec.other_keys(f"{kind}.spec", known=known)
        ]
        notices.name("input", text, dict.fromkeys(paths))
