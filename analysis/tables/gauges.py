"""The values of brokers' own gauges, as a dashboard would show them."""

# ruff: noqa: S608 - queries are put together from texts of this room

from __future__ import annotations

from tidegauge.analysis.tables.result_table import (
    RUN,
    Column,
    ResultTable,
)

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
    f"""
    select s.run, s.time_us, {", ".join(_GAUGES)}, b.broker_id as broker from broker_sampled as s
    left join brokers as b on b.run = s.run and b.broker = s.process
    """,
)
