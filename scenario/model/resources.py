"""Resources: the bandwidth of disks and networks, and the memory of machines.

A resource is shared by all that uses it at a time. The defaults are those of a plain server; each
description names its source. Answers about how long a copy takes depend on them.
"""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import (
    BeforeValidator,
    Field,
    PlainSerializer,
    WithJsonSchema,
    model_validator,
)

from tidegauge.scenario.model.parts import BrokerKey, Part
from tidegauge.simulation.quantities import (
    BANDWIDTH_SCHEMA,
    SIZE_SCHEMA,
    format_bandwidth,
    format_size,
    parse_bandwidth,
    parse_size,
)

#: An amount of bytes.
Size = Annotated[
    int,
    BeforeValidator(parse_size),
    PlainSerializer(format_size, return_type=str),
    WithJsonSchema(SIZE_SCHEMA),
]
#: Bytes per second; 0: unlimited.
Bandwidth = Annotated[
    int,
    BeforeValidator(parse_bandwidth),
    PlainSerializer(format_bandwidth, return_type=str),
    WithJsonSchema(BANDWIDTH_SCHEMA),
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
