"""The objects behind the numbers in rows: brokers, partitions and faults, as small tables.

They come from the manifests of the runs. All of them are small enough for every executor to have
a copy, so joins with them move no rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from tidegauge.scenario.reading import scenario_from_mapping
from tidegauge.traces.directory import Directory

#: More than a replica list can hold.
_NEVER_CAPPED = 1 << 30

_ENDS = "run string, ends_us bigint"
_BROKERS = (
    "run string, broker bigint, broker_id bigint, registered boolean,"
    " notifies_quiet_us bigint, notifies_at_most_us bigint"
)
_PARTITIONS = (
    "run string, partition bigint, topic string, topic_partition string, topic_number bigint,"
    " slot_brokers array<bigint>, slot_ids array<bigint>, replica_count bigint,"
    " min_insync_replicas bigint, most_insync_replicas bigint"
)
_FAULTS = "run string, fault bigint, fault_name string, fault_kind string, fault_text string"


class RunTopologies:
    """The clusters of some runs."""

    def __init__(
        self,
        spark: SparkSession,
        manifests: Mapping[str, Mapping[str, Any]],
        ends_us: Mapping[str, int],
    ) -> None:
        """Read manifests, by the names of their runs.

        Args:
            spark: makes the tables.
            manifests: what each run's ``manifest.json`` holds.
            ends_us: where each run ends, as :meth:`FoundRun.end_us` says it.

        Raises:
            ScenarioError: this Tidegauge cannot read the scenario of a manifest.
        """
        self._spark = spark
        #: By the name of the run.
        self.directories = {run: Directory(manifest) for run, manifest in manifests.items()}
        directories, table = self.directories, self.table
        #: Where the figures of each run end, its liveness phase apart.
        self.ends = table(((run, ends_us[run]) for run in manifests), _ENDS)
        #: ``broker``: its index, which is its process; if it is registered before the run; after
        #: how long it writes a notification of ISR changes.
        self.brokers = table(
            (
                row
                for run, directory in directories.items()
                for row in _brokers(run, directory, manifests[run]["scenario"])
            ),
            _BROKERS,
        )
        self.partitions = table(
            (row for each in directories.items() for row in _partitions(*each)), _PARTITIONS
        )
        #: One row for each broker that ever hosts a replica of a partition.
        self.slots = f.broadcast(
            self.partitions.select("run", "partition", f.explode("slot_brokers").alias("broker"))
        )
        self.faults = table(
            (
                (run, number, *fault)
                for run, directory in directories.items()
                for number, fault in enumerate(directory.faults)
            ),
            _FAULTS,
        )

    def table(self, rows: Iterator[tuple[Any, ...]], schema: str) -> DataFrame:
        """A small table, of which every executor has a copy."""
        return f.broadcast(self._spark.createDataFrame(list(rows), schema))

    def with_names(self, rows: DataFrame) -> DataFrame:
        """Rows with ``topic``, ``topic_partition`` and ``slot_ids`` beside their ``partition``."""
        names = self.partitions.select("run", "partition", "topic", "topic_partition", "slot_ids")
        return rows.join(names, ["run", "partition"])

    def with_broker_id(self, rows: DataFrame, index: str, name: str) -> DataFrame:
        """Rows with the id of the broker whose index is in a column; null for no broker."""
        ids = self.brokers.select("run", f.col("broker").alias(index), f.col("broker_id"))
        named = ids.withColumnRenamed("broker_id", "_broker_id")
        joined = rows.join(named, ["run", index], "left")
        return joined.withColumn(name, f.col("_broker_id")).drop("_broker_id")


def _brokers(
    run: str, directory: Directory, scenario: Mapping[str, Any]
) -> Iterator[tuple[Any, ...]]:
    planned = scenario_from_mapping(scenario, run)
    for index, broker in enumerate(directory.brokers):
        settings = planned.settings_of(broker)
        yield (
            run,
            index,
            broker,
            index in directory.registered_before,
            settings["isr_change_notification_quiet_ms"] * 1000,
            settings["isr_change_notification_max_delay_ms"] * 1000,
        )


def _partitions(run: str, directory: Directory) -> Iterator[tuple[Any, ...]]:
    for number, partition in enumerate(directory.all_partitions):
        most = partition.most_insync_replicas
        yield (
            run,
            number,
            partition.topic,
            directory.partition(number),
            partition.topic_number,
            list(partition.hosts),
            list(partition.slots),
            len(partition.replicas),
            partition.min_insync_replicas,
            _NEVER_CAPPED if most is None else most,
        )
