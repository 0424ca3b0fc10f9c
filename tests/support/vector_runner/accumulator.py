"""Area ``accumulator``: the batches and requests in which the records of a producer leave."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from scenario_runs import rows_of, run_of
from small_clusters import BROKER_1, MS, cluster_of
from tidegauge.simulation.messages.client_requests import ProduceRequest
from tidegauge.traces.run_folder import RunFolder, TraceRow
from vector_runner.area import Area, Fields, Json, area

#: The first send of a vector.
_BEGIN_MS = 3000


@area("accumulator")
class Accumulator(Area):
    """A producer that sends to the partitions of one broker, each message of which takes 1 ms.

    Whatever is seen makes the run.
    """

    def __init__(self, given: Fields, tag: str) -> None:
        self.release = tag
        self.group: dict[str, Any] = {
            "name": "shop",
            "topics": ["story"],
            "start": f"{_BEGIN_MS}ms",
            "record_bytes": given.take("record_bytes"),
            "settings": {"acks": 1, "enable.idempotence": False} | given.take("settings"),
        }
        self.partitions = given.take("partitions", 1)
        self.latency_ms = given.take("latency_ms", 1)
        self.folder = TemporaryDirectory()
        self.faults: list[Json] = []

    def close(self) -> None:
        self.folder.cleanup()

    def op_send(self, step: Fields) -> None:
        """So many records at once to the next partition in turn, so many times."""
        every_ms, times = step.take("every_ms", 1), step.take("times", 1)
        self.group |= {
            "batches_per_second": 1000 / every_ms,
            "records_per_batch": step.take("records", 1),
            "stop": f"{_BEGIN_MS + every_ms * times}ms",
        }

    def op_pause_broker(self, step: Fields) -> None:
        """From so many milliseconds after the first send on."""
        at_ms, for_ms = _BEGIN_MS + step.take("at_ms"), step.take("for_ms")
        pause = {"kind": "pause", "at": f"{at_ms}ms", "for": f"{for_ms}ms", "brokers": [1]}
        self.faults.append(pause)

    @cached_property
    def _run(self) -> RunFolder:
        on_one = {number: [1] for number in range(self.partitions)}
        scenario = cluster_of(
            release=self.release,
            mode="zookeeper",
            topics=[{"name": "story", "assignment": on_one}],
            duration="9s",
            network=dict.fromkeys(("within_rack", "between_racks", "within_host"), "1ms")
            | {"clients": f"{self.latency_ms}ms"},
            workload={"producers": [self.group]},
            faults=self.faults,
        )
        return run_of(scenario, Path(self.folder.name) / "run")

    def _sent_ms(self, row: TraceRow) -> int:
        """The time at which what has reached the broker was sent, after the first send."""
        return int(row["time_us"] // MS - _BEGIN_MS - self.latency_ms)

    def see_batches(self) -> Json:
        """Appended batches: time of sending, number of records."""
        appended = rows_of(self._run, "appended", process=BROKER_1)
        return [[self._sent_ms(row), row["end_offset"] - row["base_offset"]] for row in appended]

    def see_requests_ms(self) -> Json:
        """The times of produce requests."""
        requests = rows_of(self._run, "message", message_kind=ProduceRequest.KIND, process=BROKER_1)
        return sorted({self._sent_ms(row) for row in requests})

    def see_failed(self) -> Json:
        """Batches that the producer gives up: when, and how many records."""
        failed = rows_of(self._run, "batch_failed")
        return [[int(row["time_us"] // MS - _BEGIN_MS), row["records"]] for row in failed]
