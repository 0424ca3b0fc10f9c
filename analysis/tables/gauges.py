"""The values of nodes' own gauges, as a dashboard would show them."""

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
    key=("run", "time_us", "broker"),
)

METADATA_SAMPLES = ResultTable(
    "metadata_samples",
    "the metadata log of a KRaft node at one sample: of the active controller, or of a broker",
    (
        RUN,
        Column("time_us", "bigint", "us", "when it was sampled (sample_every of the scenario)"),
        Column("broker", "bigint", "broker id", "the broker; null: the active controller"),
        Column("log_end_offset", "bigint", "offset", "the end of its log"),
        Column("high_watermark", "bigint", "offset", "how far it knows that to be committed"),
        Column("queue_length", "bigint", "events", "events in the controller's queue"),
        Column("deferred", "bigint", "responses", "the controller's that wait for a commit"),
    ),
    """
    select s.run, s.time_us, log_end_offset, high_watermark, queue_length, deferred,
        b.broker_id as broker
    from metadata_sampled as s
    left join brokers as b on b.run = s.run and b.broker = s.broker
    """,
    key=("run", "time_us", "broker", "log_end_offset"),
)
