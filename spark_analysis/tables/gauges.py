"""The values of brokers' own gauges, as a dashboard would show them."""

from __future__ import annotations

from pyspark.sql import DataFrame

from tidegauge.spark_analysis.tables.result_table import RUN, Column, ResultTable
from tidegauge.spark_analysis.tables.run_rows import RunRows

_GAUGES = {
    "partitions": ("PartitionCount", "partitions", "replicas that it hosts"),
    "leaders": ("LeaderCount", "partitions", "... and leads"),
    "under_replicated": (
        "UnderReplicatedPartitions",
        "partitions",
        "... and lack one in the ISR",
    ),
    "under_min_isr": ("UnderMinIsrPartitionCount", "partitions", "... below min.insync.replicas"),
    "at_min_isr": ("AtMinIsrPartitionCount", "partitions", "... exactly at min.insync.replicas"),
    "reassigning": ("ReassigningPartitions", "partitions", "... that are being moved"),
}


def _broker_samples(rows: RunRows) -> DataFrame:
    samples = rows.of_kind("broker_sampled", *_GAUGES)
    return rows.topology.with_broker_id(
        samples.withColumn("index", samples["process"]), "index", "broker"
    )


BROKER_SAMPLES = ResultTable(
    "broker_samples",
    "the values of a broker's gauges at one sample, while it ran",
    (
        RUN,
        Column("time_us", "bigint", "us", "when they were sampled (sample_every of the scenario)"),
        Column("broker", "bigint", "broker id", "the broker"),
        *(
            Column(name, "bigint", unit, f"{meaning}: {gauge}")
            for name, (gauge, unit, meaning) in _GAUGES.items()
        ),
    ),
    _broker_samples,
)
