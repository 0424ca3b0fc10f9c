"""The workload of a scenario: groups of producers and consumers."""

from typing import Annotated

from pydantic import AfterValidator, Field

from tidegauge.scenario.model.limits import LEAST_PER_SECOND, MOST_CLIENTS, MOST_PER_SECOND
from tidegauge.scenario.model.parts import Duration, Listed, Name, Part, Some, without_repetition
from tidegauge.scenario.model.settings import Settings


class ClientGroup(Part):
    """Clients with the same task: the common fields of producers and consumers."""

    name: Name = Field(
        description="Name of the group, unique among all groups; faults select it as client:NAME."
    )
    clients: int = Field(
        default=1, ge=1, le=MOST_CLIENTS, description="Number of processes that share the work."
    )
    topics: Annotated[Some[str], AfterValidator(without_repetition)] = Field(
        description="Names of topics."
    )
    start_us: Duration = Field(
        default=2_000_000,
        alias="start",
        description="Start of the group, if the run lasts that long. A small cluster is up by 2s.",
    )
    rack: Name | None = Field(
        default=None,
        description="Rack of the clients, one of cluster.racks: their client.rack, and the place "
        "of their machines in the network. Default: outside of all racks, with network.clients as "
        "latency.",
    )
    bootstrap: Annotated[Some[int], AfterValidator(without_repetition)] | None = Field(
        default=None,
        description="Ids of the brokers in bootstrap.servers, which a client asks while it has no "
        "metadata. Default: all brokers.",
    )
    settings: Settings = Field(
        default_factory=dict,
        description="Settings of Kafka's client. Default: those of the scenario's release.",
    )


class ProducerGroup(ClientGroup):
    """Producers: one send after the other, round robin over all partitions of the topics."""

    batches_per_second: float = Field(
        ge=LEAST_PER_SECOND,
        le=MOST_PER_SECOND,
        allow_inf_nan=False,
        description="Rate of the whole group, in sends per second. A send hands records_per_batch "
        "records to the producer at once, all for the next partition in turn. Sends that wait for "
        "the same partition share a batch, up to batch.size, as in Kafka's producer.",
    )
    records_per_batch: int = Field(
        default=1,
        ge=1,
        lt=2**31,
        description="Records of a send. Those that do not fit into one batch (batch.size) are "
        "several.",
    )
    record_bytes: int = Field(
        default=100, ge=1, lt=2**31, description="Size of a record, in bytes."
    )
    stop_us: Duration | None = Field(
        default=None,
        alias="stop",
        description="End of the group. Default: the end of the run.",
    )

    def batches_of_a_send(self, batch_bytes: int) -> int:
        """The number of batches that a send opens if none waits.

        Args:
            batch_bytes: batch.size.
        """
        return -(-self.records_per_batch // max(1, batch_bytes // self.record_bytes))


class ConsumerGroup(ClientGroup):
    """Consumers that share the partitions of the topics."""

    records_per_second: float | None = Field(
        default=None,
        ge=LEAST_PER_SECOND,
        allow_inf_nan=False,
        description="Rate at which the whole group can process records, per second. Default: no "
        "limit.",
    )


class Workload(Part):
    """All clients."""

    producers: Listed[ProducerGroup] = Field(default=(), description="Groups of producers.")
    consumers: Listed[ConsumerGroup] = Field(default=(), description="Groups of consumers.")

    @property
    def groups(self) -> tuple[ClientGroup, ...]:
        """All groups, in the order in which their clients are numbered."""
        return (*self.producers, *self.consumers)
