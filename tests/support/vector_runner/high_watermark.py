"""Area ``log_high_watermark``: the high watermark of one log."""

from __future__ import annotations

from tidegauge.replication.high_watermark import (
    maybe_increment_high_watermark,
    update_high_watermark,
)
from tidegauge.replication.log import append, truncate_fully_and_start_at, truncate_to
from tidegauge.replication.records import Partition
from vector_runner.area import Area, Fields, area, epoch_entries, record, release_rules


@area("log_high_watermark")
class LogHighWatermark(Area):
    """A log that is appended to and truncated."""

    def __init__(self, given: Fields, tag: str) -> None:
        self.rules = release_rules(tag)
        self.runs = epoch_entries([], 64)
        self.entries = epoch_entries([], 64)
        self.partition = record(
            Partition,
            log_start_offset=given.take("log_start_offset"),
            log_end_offset=given.take("leo"),
            high_watermark=given.take("hw"),
        )

    def op_append(self, step: Fields) -> None:
        append(self.rules, self.partition, self.runs, self.entries, 0, step.take("count"))

    def op_leader_increment(self, step: Fields) -> None:
        maybe_increment_high_watermark(self.partition, step.take("to"))

    def op_follower_update(self, step: Fields) -> None:
        update_high_watermark(self.rules, self.partition, step.take("leader_hw"))

    def op_truncate_to(self, step: Fields) -> None:
        truncate_to(self.rules, self.partition, self.runs, self.entries, step.take("offset"))

    def op_truncate_fully_and_start_at(self, step: Fields) -> None:
        truncate_fully_and_start_at(self.rules, self.partition, step.take("offset"))

    def see_hw(self) -> int:
        return self.partition.high_watermark

    def see_leo(self) -> int:
        return self.partition.log_end_offset

    def see_log_start_offset(self) -> int:
        return self.partition.log_start_offset
