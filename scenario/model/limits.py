"""Limits on the size of a scenario, and its resources: disks, networks and memory.

A run allocates its tables for all parts of its scenario, and some of them for pairs of parts. A
scenario far beyond any cluster is refused here with the limit, before it exhausts the machine's
memory. Limits of single fields are constraints of these fields; ``coherence/size.py`` checks
combinations of fields. The largest cluster takes some 20 GB.

A resource is shared by all that uses it at a time. The defaults are those of a plain server, with
sources in the descriptions. The time of a copy depends on them.
"""

from typing import Annotated, Self

from pydantic import BeforeValidator, Field, PlainSerializer, WithJsonSchema, model_validator

from tidegauge.scenario.model.parts import BrokerKey, Part
from tidegauge.simulation import quantities

#: Every two processes have a link, and a broker is two processes.
MOST_BROKERS = 2_000
#: ... and a client is one.
MOST_CLIENTS = 1_000
#: The limit of all topics together. A partition of three replicas takes some 10 KiB
#: (``bench/size.py``). Kafka's largest clusters were to have 200,000 with ZooKeeper, and
#: two million with KRaft.
MOST_PARTITIONS = 2_000_000
#: The limit of all partitions together.
MOST_REPLICAS = 6_000_000
#: A client that writes to a partition, or a group that reads it, counts as one.
MOST_TARGETS = 8_000_000
#: Committed offsets: every broker has room for all, as any can become their coordinator.
MOST_COMMITTED_OFFSETS = 100_000_000
#: Fetcher threads of all brokers together: each has one, or more, for each other broker.
MOST_FETCHERS = 5_000_000
#: num.io.threads of one broker.
MOST_THREADS = 10_000
#: A fault has a flag for every process: whether it hits it.
MOST_FAULTS = 1_000
MOST_STEPS = 10_000
#: Each message is compared with each pin.
MOST_PINS = 1_000
#: The limit of an ensemble.
MOST_SERVERS = 100
#: The limit of a group of producers: one each microsecond.
MOST_PER_SECOND = 1_000_000
#: ... or of consumers, at least: one in a thousand hours. Nanoseconds between two fit into 64 bits.
LEAST_PER_SECOND = 1 / 3_600_000
#: All that producers send in a run: some ten hours of work for one core.
MOST_BATCHES = 1_000_000_000
#: Sends whose records producers may have to keep while no leader responds.
MOST_WAITING_SENDS = 20_000_000
#: A producer's memory has room for the batches of eight such sends.
MOST_BATCHES_OF_A_SEND = 10_000
#: The limit of a group of producers in a run; sums of sizes fit into 64 bits.
MOST_BYTES = 2**60


#: An amount of bytes.
Size = Annotated[
    int,
    BeforeValidator(quantities.parse_size),
    PlainSerializer(quantities.format_size, return_type=str),
    WithJsonSchema(quantities.SIZE_SCHEMA),
]
#: Bytes per second; 0: unlimited.
Bandwidth = Annotated[
    int,
    BeforeValidator(quantities.parse_bandwidth),
    PlainSerializer(quantities.format_bandwidth, return_type=str),
    WithJsonSchema(quantities.BANDWIDTH_SCHEMA),
]


class Machine(Part):
    """The resources of a broker's machine."""

    network_in: Bandwidth = Field(
        default=1_250_000_000,
        description="Bandwidth of its network, receiving. Default: a network card of 10 Gbit/s.",
    )
    network_out: Bandwidth = Field(
        default=1_250_000_000,
        description="Bandwidth of its network, sending. Default: as for receiving.",
    )
    disk_read: Bandwidth = Field(
        default=600_000_000,
        description="Sequential reads of each log directory. Default: the figure of Kafka's design "
        "documentation for linear access to six SATA disks of 7200 rpm.",
    )
    disk_write: Bandwidth = Field(
        default=600_000_000,
        description="Sequential writes of each log directory. Default: as for reads.",
    )
    page_cache: Size = Field(
        default=28 * 2**30,
        description="Memory for the page cache: so many bytes that were appended last are read "
        "from memory, older records from disk. Default: 28 GiB, which Kafka's design documentation "
        "has for a machine of 32 GB.",
    )
    dirty_limit: Size = Field(
        default=256 * 2**20,
        description="Memory for appended bytes that are not on disk yet, shared equally by the log "
        "directories; an append waits while the disk of its directory has more of them to write. "
        "Linux has up to 20 % of the memory that is available (vm.dirty_ratio). Default: 256 MiB, "
        "half a second of writes, so that copies of a few GB already run at `disk_write`; with "
        "20 % of 28 GiB the first 5.6 GiB would run at the speed of memory. These bytes are in "
        "memory even if `page_cache` is smaller.",
    )


class Resources(Machine):
    """The resources of all machines, and of the links between racks."""

    between_racks: Bandwidth = Field(
        default=0,
        description="Bandwidth of the link from a rack to each other rack, in each direction. "
        "Default: unlimited, as in a network that is not oversubscribed.",
    )
    brokers: dict[BrokerKey, Machine] = Field(
        default_factory=dict,
        description="Machines that differ, by broker id. A field that is not given is as for all.",
    )

    @model_validator(mode="after")
    def _machines_are_as_all_in_the_rest(self) -> Self:
        for broker, machine in self.brokers.items():
            common = {
                name: getattr(self, name)
                for name in Machine.model_fields
                if name not in machine.model_fields_set
            }
            self.brokers[broker] = machine.model_copy(update=common)
        return self

    def of_broker(self, broker: int) -> Machine:
        """The resources of a broker's machine, by the broker's id."""
        return self.brokers.get(broker, self)
