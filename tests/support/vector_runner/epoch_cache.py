"""Area ``epoch_cache``: the four generations of LeaderEpochFileCache."""

from __future__ import annotations

from tidegauge.replication import leader_epoch_cache as cache
from tidegauge.replication.checkpoint_files import (
    CheckpointFormat,
    EpochStart,
    parse_leader_epochs,
    render_leader_epochs,
)
from tidegauge.replication.log import open_log
from tidegauge.replication.records import Partition
from tidegauge.replication.release_rules import (
    EPOCH_CACHE_A,
    EPOCH_CACHE_B,
    EPOCH_CACHE_C,
    EPOCH_CACHE_D,
)
from vector_runner.area import (
    Area,
    Fields,
    Json,
    area,
    choice,
    epoch_entries,
    none_if_absent,
    record,
    release_rules,
)

GENERATIONS = {"A": EPOCH_CACHE_A, "B": EPOCH_CACHE_B, "C": EPOCH_CACHE_C, "D": EPOCH_CACHE_D}

#: Entries that a vector's cache is given room for beside those of its checkpoint.
ROOM = 64


@area("epoch_cache")
class EpochCache(Area):
    """One cache with its checkpoint file, and the log end offset that its answers need."""

    def __init__(self, given: Fields, tag: str) -> None:
        generation = choice(GENERATIONS, given.take("generation"), "generation")
        self.rules = release_rules(tag, epoch_cache_generation=generation)
        self.log_end_offset = given.take("log_end_offset")
        self.file = _render(given.take("checkpoint_entries"))
        self._load()

    def _load(self) -> None:
        persisted = self._persisted()
        checkpoint = epoch_entries(persisted)
        self.entries = epoch_entries([], len(persisted) + ROOM)
        self.count = cache.load(self.rules, checkpoint, len(persisted), self.entries)

    def _persisted(self) -> list[tuple[int, int]]:
        starts = parse_leader_epochs(self.file, CheckpointFormat.SCALA)
        return [(start.epoch, start.start_offset) for start in starts]

    def _flush_if_changed(self, before: list[list[int]]) -> None:
        after = self.see_entries()
        if after != before:
            self.file = _render(after)

    def op_assign(self, step: Fields) -> None:
        epoch, start_offset = step.take("epoch"), step.take("start_offset")
        expected_error = step.take("expect_error", None)
        valid = cache.is_valid_entry(self.rules, epoch, start_offset)
        # Both names mean that Kafka throws an exception.
        assert expected_error in ([None] if valid else ["invalid_epoch", "invalid_entry"])
        if not valid:
            return
        before = self.see_entries()
        self.count = cache.assign(self.rules, self.entries, self.count, epoch, start_offset)
        self._flush_if_changed(before)

    def op_set_leo(self, step: Fields) -> None:
        self.log_end_offset = step.take("value")

    def op_truncate_from_end(self, step: Fields) -> None:
        before = self.see_entries()
        self.count = cache.truncate_from_end(self.entries, self.count, step.take("offset"))
        self._flush_if_changed(before)

    def op_truncate_from_start(self, step: Fields) -> None:
        before = self.see_entries()
        self.count = cache.truncate_from_start(self.entries, self.count, step.take("offset"))
        self._flush_if_changed(before)

    def op_clear_and_flush(self) -> None:
        self.count = 0
        self.file = _render([])

    def op_reload(self) -> None:
        self._load()

    def op_load_log(self, step: Fields) -> None:
        self.log_end_offset = step.take("leo")
        partition = record(
            Partition,
            log_end_offset=self.log_end_offset,
            log_start_offset=step.take("log_start_offset"),
        )
        persisted = self._persisted()
        checkpoint = epoch_entries(persisted)
        open_log(self.rules, partition, checkpoint, len(persisted), self.entries, 0)
        self.count = partition.epoch_count
        self._flush_if_changed([list(entry) for entry in persisted])

    def _entry(self, index: int) -> list[int] | None:
        if not 0 <= index < self.count:
            return None
        return [int(self.entries[index].epoch), int(self.entries[index].start_offset)]

    def _epoch(self, index: int) -> int | None:
        entry = self._entry(index)
        return None if entry is None else entry[0]

    def see_entries(self) -> list[list[int]]:
        return [entry for index in range(self.count) if (entry := self._entry(index)) is not None]

    def see_persisted(self) -> list[list[int]]:
        return [list(entry) for entry in self._persisted()]

    def see_latest_epoch(self) -> int | None:
        return none_if_absent(cache.latest_epoch(self.entries, self.count))

    def see_previous_epoch(self) -> int | None:
        return self._epoch(self.count - 2)

    def see_end_offset_for(self, expected: Json) -> Json:
        return [{"epoch": asked["epoch"], "result": self._answer(asked)} for asked in expected]

    def _answer(self, asked: Json) -> dict[str, int]:
        epoch, offset = cache.end_offset_for(
            self.rules, self.entries, self.count, self.log_end_offset, asked["epoch"]
        )
        if self.rules.epoch_cache_generation == EPOCH_CACHE_A:
            return {"offset": offset}
        return {"leader_epoch": epoch, "offset": offset}

    def see_previous_epoch_of(self, expected: Json) -> Json:
        return _look_up(
            expected,
            "epoch",
            lambda epoch: self._epoch(cache.previous_entry(self.entries, self.count, epoch)),
        )

    def see_previous_entry_of(self, expected: Json) -> Json:
        return _look_up(
            expected,
            "epoch",
            lambda epoch: self._entry(cache.previous_entry(self.entries, self.count, epoch)),
        )

    def see_next_epoch_of(self, expected: Json) -> Json:
        return _look_up(
            expected,
            "epoch",
            lambda epoch: self._epoch(cache.next_entry(self.entries, self.count, epoch)),
        )

    def see_entry_for_epoch(self, expected: Json) -> Json:
        return _look_up(
            expected,
            "epoch",
            lambda epoch: self._entry(cache.entry_for_epoch(self.entries, self.count, epoch)),
        )

    def see_epoch_for_offset(self, expected: Json) -> Json:
        return _look_up(
            expected,
            "offset",
            lambda offset: self._epoch(cache.entry_for_offset(self.entries, self.count, offset)),
        )


def _look_up(expected: Json, key: str, find: Json) -> Json:
    return [{key: asked[key], "result": find(asked[key])} for asked in expected]


def _render(entries: Json) -> bytes:
    return render_leader_epochs(EpochStart(epoch, start) for epoch, start in entries)
