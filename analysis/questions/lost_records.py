"""The acknowledged records that are lost, and the causes.

A record that was acknowledged with ``acks=1`` was never promised more than its leader; of
``acks=all`` only an unclean election or a loss of power breaks the promise. ``cause`` is the handle
of the row with which the first leader began that did not have the records.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from tidegauge.analysis.questions.question import Question
from tidegauge.analysis.tables.result_table import RUN, Column
from tidegauge.analysis.tables.run_tables import RunTables
from tidegauge.replication.min_insync_replicas import ACKS_ALL

_EXAMPLE = ("topic_partition", "first_offset", "end_offset", "leader", "new_leader", "began_us")


def _lost_records(tables: RunTables) -> DataFrame:
    promised = (
        tables["acknowledged"].groupBy("run", "acks").agg(f.sum("records").alias("acknowledged_so"))
    )
    example = f.struct(*_EXAMPLE, f.expr("began_process || ':' || began_sequence").alias("cause"))
    largest = f.struct("records", f.expr("-partition"), f.expr("-first_offset"))
    lost = (
        tables["lost"]
        .groupBy("run", "acks", "permitted_by", "fault_name", "trigger_kind")
        .agg(
            f.sum("records").alias("records"),
            f.countDistinct("partition").alias("partitions"),
            f.count("*").alias("ranges"),
            f.max_by(example, largest).alias("example"),
        )
    )
    acks_text = f.when(f.col("acks") == int(ACKS_ALL), "all").otherwise(
        f.col("acks").cast("string")
    )
    return (
        lost.join(f.broadcast(promised), ["run", "acks"])
        .select("*", "example.*")
        .orderBy("run", f.desc("records"), "acks", "topic_partition")
        .withColumn("acks", acks_text)
    )


LOST_RECORDS = Question(
    "lost-records",
    "Which acknowledged records are lost, and why?",
    (
        RUN,
        Column("acks", "string", "", "acks of the producer"),
        Column("records", "bigint", "records", "acknowledged, and lost in this way"),
        Column("acknowledged_so", "bigint", "records", "all records acknowledged with these acks"),
        Column("partitions", "bigint", "partitions", "partitions that have lost some of them"),
        Column("ranges", "bigint", "", "contiguous ranges of offsets"),
        Column("permitted_by", "string", "", "the reason that permits the loss; null: none does"),
        Column("fault_name", "string", "", "the fault that it goes back to; null: none"),
        Column(
            "trigger_kind", "string", "", "kind of the row that notified the new leader's broker"
        ),
        Column("topic_partition", "string", "", "the largest range as an example: its partition"),
        Column("first_offset", "bigint", "", "... its first offset"),
        Column("end_offset", "bigint", "", "... and the offset after its last"),
        Column("leader", "bigint", "broker id", "... the broker that acknowledged it"),
        Column("new_leader", "bigint", "broker id", "... the first leader without it"),
        Column("began_us", "bigint", "us", "... when it began to lead"),
        Column("cause", "string", "", "... for `tidegauge show RUN --cause`"),
    ),
    _lost_records,
)
