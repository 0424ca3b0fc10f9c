"""Durations: the network's latencies and the costs of work.

All of it is a model. The network's figures are chosen to be plausible for one data centre with
several racks or zones. The costs come from real brokers of 2.6.3, or with KRaft of 4.1.0, where a
field's description names them; the others are plausible values. Results in milliseconds depend on
them.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from functools import cache
from itertools import pairwise
from typing import Any, Self

from pydantic import Field, GetJsonSchemaHandler, model_serializer, model_validator
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from tidegauge.replication.release_versions import KRAFT_MODE, ZOOKEEPER_MODE, Mode
from tidegauge.scenario.model.parts import Duration, Listed, Part
from tidegauge.simulation.quantities import DURATION_SCHEMA, format_duration

#: A table has the values at 0/16, 1/16, ... 16/16 of probability.
_TABLE_STEPS = 16
# The probabilities of a latency's points, in 1/1600, so that they and the steps of a table are
# integers.
_PROBABILITIES = (0, 800, 1440, 1584, 1600)
_NAMES = ("min", "p50", "p90", "p99", "max")


class Latency(Part):
    """Duration of an activity: quantiles with linear interpolation, or one duration."""

    min_us: Duration | None = Field(
        default=None, alias="min", description="The minimum; 1us or more."
    )
    p50_us: Duration | None = Field(default=None, alias="p50", description="The median.")
    p90_us: Duration | None = Field(
        default=None, alias="p90", description="The 90th percentile. Default: p50."
    )
    p99_us: Duration | None = Field(
        default=None, alias="p99", description="The 99th percentile. Default: p90."
    )
    max_us: Duration | None = Field(
        default=None, alias="max", description="The maximum. Default: p99."
    )
    table_us: Listed[Duration] | None = Field(
        default=None,
        alias="table",
        description="Instead of min to max: the values at 0/16, 1/16, ... 16/16 of probability.",
    )

    @model_validator(mode="before")
    @classmethod
    def _from_one_duration(cls, data: Any) -> Any:
        if isinstance(data, Mapping | Latency):
            return data
        return {"min": data, "p50": data}

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """Quantiles, or one duration for all of them."""
        reference = handler(core_schema)
        schema = handler.resolve_ref_schema(reference)
        quantiles = dict(schema)
        schema.clear()
        schema["description"] = quantiles.pop("description")
        schema["anyOf"] = [DURATION_SCHEMA, quantiles]
        return reference

    @model_validator(mode="after")
    def _does_not_go_down(self) -> Self:
        if self.table_us is not None:
            if any(point is not None for point in self._given):
                raise ValueError("has a table, so it cannot have min, p50, p90, p99 or max")
            if len(self.table_us) != _TABLE_STEPS + 1:
                raise ValueError(f"table must have 17 durations, not {len(self.table_us)}")
        elif self.min_us is None or self.p50_us is None:
            raise ValueError("must have min and p50, or a table of 17 durations, or be a duration")
        points = self._points if self.table_us is None else self.table_us
        if points[0] < 1:
            raise ValueError("must be 1us or more: no activity takes zero time")
        for lower, higher in pairwise(points):
            if lower > higher:
                raise ValueError(
                    f"must not decrease: {format_duration(higher)} after {format_duration(lower)}"
                )
        return self

    @property
    def _given(self) -> tuple[int | None, ...]:
        return (self.min_us, self.p50_us, self.p90_us, self.p99_us, self.max_us)

    @property
    def _points(self) -> tuple[int, ...]:
        """The five points; one that is not given equals the one before it."""
        points: list[int] = []
        for point in self._given:
            points.append(points[-1] if point is None else point)
        return tuple(points)

    def quantiles_us(self) -> list[int]:
        """The values at 0/16, 1/16, ... 16/16 of probability: the table to draw from."""
        if self.table_us is not None:
            return list(self.table_us)
        step = _PROBABILITIES[-1] // _TABLE_STEPS
        points = self._points
        return [_value_at(step * number, points) for number in range(_TABLE_STEPS + 1)]

    @model_serializer
    def _written(self) -> dict[str, Any] | str:
        if self.table_us is not None:
            return {"table": [format_duration(value) for value in self.table_us]}
        points = [format_duration(point) for point in self._points]
        return points[0] if len(set(points)) == 1 else dict(zip(_NAMES, points, strict=True))


@cache
def _value_at(probability: int, points: tuple[int, ...]) -> int:
    """The value at a probability that is given in 1/1600, between five points."""
    place = bisect_left(_PROBABILITIES, probability, lo=1)
    below, above = _PROBABILITIES[place - 1 : place + 1]
    low_us, high_us = points[place - 1 : place + 1]
    return low_us + (high_us - low_us) * (probability - below) // (above - below)


def _latency(least: str, p50: str, p90: str, p99: str, most: str) -> Latency:
    points = (least, p50, p90, p99, most)
    return Latency.model_validate(dict(zip(_NAMES, points, strict=True)))


def _always(duration: str) -> Latency:
    return Latency.model_validate(duration)


_BETWEEN_RACKS = _latency("250us", "400us", "600us", "1500us", "5ms")


class Network(Part):
    """The one-way latency of a message; plausible figures, not measured ones."""

    within_rack: Latency = Field(
        default=_latency("100us", "200us", "300us", "800us", "2ms"),
        description="Between two brokers of one rack, or a broker and a ZooKeeper in it.",
    )
    between_racks: Latency = Field(
        default=_BETWEEN_RACKS,
        description="Between racks, and to ZooKeeper if it is in no rack.",
    )
    clients: Latency = Field(
        default=_BETWEEN_RACKS, description="Between clients and everything else."
    )
    within_host: Latency = Field(
        default=_latency("20us", "30us", "50us", "100us", "500us"),
        description="Between a broker and the controller on the same host.",
    )
    retransmission_after_cut: Latency = Field(
        default=_latency("2s", "3s", "4500ms", "5s", "5s"),
        description="Time until TCP retransmits segments that a cut dropped, once "
        "the cut heals: 2 to 5 s on real brokers. This is TCP's backoff, not Kafka's.",
    )


class Costs(Part):
    """The duration of work, without the network."""

    request: Latency = Field(
        default=_always("200us"),
        description="A request handler's time for a request. Measured: a fetch and its round "
        "trip take 0.26 ms on one machine, of which the round trip is 0.06 ms.",
    )
    request_partition: Latency = Field(
        default=_always("5us"),
        description="A request handler's additional time for each partition in a request. "
        "Plausible.",
    )
    append: Latency = Field(
        default=_always("200us"),
        description="One append to a log. Measured: a produce request with acks=1 takes 0.5 ms "
        "on one machine.",
    )
    zookeeper_read: Latency = Field(
        default=_latency("260us", "390us", "530us", "1100us", "5ms"),
        description="One read from ZooKeeper. Measured, including the round trip to ZooKeeper "
        "on the same machine.",
    )
    zookeeper_write: Latency = Field(
        default=_latency("300us", "570us", "1200us", "2900us", "5ms"),
        description="One write to ZooKeeper, by a quorum that forces it to disk. p50 and p99 "
        "measured.",
    )
    zookeeper_pipelined_write: Latency = Field(
        default=_always("160us"),
        description="An additional write that directly follows another. Measured, as a mean.",
    )
    controller_event: Latency = Field(
        default=_always("35ms"),
        description="The controller's own work for any event but its election. Measured: rest of "
        "the 57 ms, 273 ms and 661 ms from a session's end to the first new state of 100, 1000 "
        "and 4000 partitions.",
    )
    controller_partition: Latency = Field(
        default=_always("80us"),
        description="The controller's additional work for each ZooKeeper response in an event. "
        "Measured: 118 ms, 597 ms and 1536 ms from the first new state to the first new leader.",
    )
    controller_election: Latency = Field(
        default=_always("3ms"),
        description="A broker's own work before it tries to become controller. Measured "
        "together with ZooKeeper's: 5 ms.",
    )
    become_leader: Latency = Field(
        default=_always("560us"),
        description="A broker's work for each partition in a LeaderAndIsr request of which it "
        "becomes leader. Measured: 0.56 ms (of 4000 partitions) to 1.14 ms (of 100).",
    )
    become_follower: Latency = Field(
        default=_always("560us"),
        description="A broker's work for each partition in a LeaderAndIsr request of which it "
        "becomes follower. Assumed to equal becoming leader.",
    )
    broker_start: Latency = Field(
        default=_always("700ms"),
        description="A broker's start, without loading its logs. Measured: 0.5 to 0.9 s.",
    )
    broker_ready: Latency = Field(
        default=_always("150ms"),
        description="From a broker's registration to the first request that it handles. "
        "Measured: leaders add it to ISRs 135 ms after its registration, or later.",
    )
    log_load: Latency = Field(
        default=_always("460us"),
        description="Loading one log after a clean stop. Measured: 576 ms with 100 logs, 2370 ms "
        "with 4000. With KRaft 1400us if not given. Measured: from registration to unfencing 0.46 "
        "s with 100 logs, 1.72 s with 1000.",
    )
    log_recovery: Latency = Field(
        default=_always("4600us"),
        description="Loading one log after any other stop. Measured: 1368 ms with 100 logs, "
        "19440 ms with 4000. With KRaft 4030us if not given. Measured: from registration to "
        "unfencing 0.70 s with 100 logs, 4.33 s with 1000.",
    )
    log_recovery_mebibyte: Latency = Field(
        default=_always("400us"),
        description="Reading one MiB after the recovery point again, from the page cache, after "
        "a stop that was not clean. Measured: 69 ms for 180 MiB.",
    )
    broker_stop: Latency = Field(
        default=_always("1700ms"),
        description="From the controller's last response to the exit, in a clean stop up to "
        "release 3.1, which waits for threads that poll for a second. Measured: 1.5 to 2 s.",
    )
    broker_stop_interrupting: Latency = Field(
        default=_always("700ms"),
        description="From the controller's last response to the exit, in a clean stop from "
        "release 3.2 on, which interrupts these threads. Measured: 0.5 to 1 s with 3.9.0.",
    )
    offsets_load: Latency = Field(
        default=_always("5ms"),
        description="Time in which a new coordinator reads a partition of __consumer_offsets. "
        "Plausible.",
    )
    offsets_load_mebibyte: Latency = Field(
        default=_always("10ms"),
        description="Additional time for each MiB of that partition's log, which is never "
        "compacted here. Plausible.",
    )
    controller_failover_partition: Latency = Field(
        default=_always("100us"),
        description="A new controller's own work for each partition, in addition to the work "
        "for ZooKeeper's response about it. Measured, with the reads: 105 ms for 100 "
        "partitions, 1383 ms for 4000.",
    )
    metadata_record: Latency = Field(
        default=_always("2us"),
        description="The active controller's work for each record of the metadata log: computing "
        "and replaying it. Measured: a batch of 1000 partitions takes no longer than one of 100.",
    )
    metadata_append: Latency = Field(
        default=_always("200us"),
        description="Writing one batch of records to the metadata log of a controller. Assumed to "
        "equal an append of a broker.",
    )
    metadata_fsync: Latency = Field(
        default=_latency("300us", "570us", "1200us", "2900us", "5ms"),
        description="Forcing one batch of records, or a vote, to the disk of a controller. Assumed "
        "to equal a write to ZooKeeper.",
    )
    metadata_publication: Latency = Field(
        default=_latency("80ms", "80ms", "80ms", "140ms", "140ms"),
        description="A broker's work for each publication of new metadata, whatever changed. "
        "Measured, with linger, commit and fetch: a batch is visible at another broker after "
        "110 ms with 100 changed partitions, after 133 ms with 1000. The range is chosen so that "
        "brokers of 3.9.0 to 4.4.0 are as far apart as measured: up to 60 ms, and in one of seven "
        "raises of a leader epoch a follower is ahead of its leader by more than a fetch.",
    )
    metadata_publication_partition: Latency = Field(
        default=_always("20us"),
        description="A broker's additional work for each changed partition of a publication, also "
        "for the replica that it hosts. Measured, as above.",
    )
    metadata_first_publication: Latency = Field(
        default=_always("300ms"),
        description="A broker's additional work for its first publication, without loading its "
        "logs. It begins 0.1 s before the registration, which waits for the active controller. "
        "Measured: the rest of the 0.3 s from registration to unfencing that do not grow with the "
        "number of logs.",
    )
    broker_registration: Latency = Field(
        default=_always("200ms"),
        description="From the end of a broker's start to its first fetch of the metadata log; it "
        "looks for the active controller then, and again 0.1 s later. Measured, with the start and "
        "that 0.1 s: registration 0.85 to 1.12 s after the start.",
    )
    broker_stop_request: Latency = Field(
        default=_latency("4ms", "11ms", "17ms", "45ms", "65ms"),
        description="From SIGTERM to the heartbeat that asks for a controlled shutdown. Measured: "
        "the batch of the shutdown follows SIGTERM by 5 ms or more, by 12 to 20 ms if idle.",
    )

    metadata_snapshot_mebibyte: Latency = Field(
        default=_always("9ms"),
        description="The transfer of each MiB of a snapshot of the metadata log, to a controller "
        "or broker that needs records from before the leader's log. Assumed: 1 Gbit/s.",
    )
    metadata_vote: Latency = Field(
        default=_latency("5ms", "20ms", "36ms", "60ms", "90ms"),
        description="From the arrival of a request for a controller's vote, or of a response to "
        "its own, until its thread takes it: its JVM has hardly run that code before. Measured: on "
        "a loaded machine the request after a pre-vote follows it by 64 to 151 ms, which is two of "
        "these. Assumed: a fifth on an idle machine; votes split as often as recorded.",
    )

    def in_mode(self, mode: Mode) -> Costs:
        """These costs with the defaults of the mode: some were measured in both."""
        defaults = _KRAFT_DEFAULTS if mode == KRAFT_MODE else {}
        given = self.model_fields_set
        return self.model_copy(
            update={name: cost for name, cost in defaults.items() if name not in given}
        )


#: The defaults of a cluster with KRaft.
_KRAFT_DEFAULTS = {"log_load": _always("1400us"), "log_recovery": _always("4030us")}


#: The costs that only a cluster of one mode has.
_COSTS: dict[Mode, tuple[str, ...]] = {
    ZOOKEEPER_MODE: (
        *("zookeeper_read", "zookeeper_write", "zookeeper_pipelined_write"),
        *("controller_event", "controller_partition", "controller_election"),
        *("controller_failover_partition", "become_leader", "become_follower", "broker_ready"),
    ),
    KRAFT_MODE: (
        *("metadata_record", "metadata_append", "metadata_fsync"),
        *("metadata_publication", "metadata_publication_partition", "metadata_first_publication"),
        *("broker_registration", "broker_stop_request", "metadata_snapshot_mebibyte"),
        "metadata_vote",
    ),
}


def costs_of_other_modes(mode: Mode) -> list[str]:
    """The fields of ``costs`` that have no meaning in this mode."""
    return [cost for own, costs in _COSTS.items() if own != mode for cost in costs]
