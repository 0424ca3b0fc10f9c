"""Area ``producer_state``: what one log knows of idempotent producers."""

from __future__ import annotations

from tidegauge.compiled.records import new_records
from tidegauge.replication import errors
from tidegauge.replication.producer_state import (
    NO_BATCH,
    RETAINED_BATCHES,
    append_batch,
    check_producer_epoch,
    check_sequence,
    decrement_sequence,
    enter_producer_epoch,
    find_duplicate,
    forget_producer,
    increment_sequence,
    is_producer_expired,
    truncate_producer_head,
    truncate_producer_to,
    validate_batch,
)
from tidegauge.replication.records import BatchMetadata, ProducerStateEntry
from vector_runner.area import Area, Fields, Json, area, error_code, record, release_rules

#: Most producers of a vector.
ROOM = 4


@area("producer_state")
class ProducerState(Area):
    """One log and the producers that write to it; operations are about producer 1 by default."""

    def __init__(self, given: Fields, tag: str) -> None:
        self.rules = release_rules(tag)
        self.log_end_offset = given.take("log_end_offset", 0)
        self.batches = new_records(BatchMetadata, ROOM * int(RETAINED_BATCHES))
        self.entries: dict[int, ProducerStateEntry] = {}
        self.answered_offset: int | None = None

    def _entry(self, producer: int) -> ProducerStateEntry:
        if producer not in self.entries:
            self.entries[producer] = record(
                ProducerStateEntry,
                producer_id=producer,
                first_batch=len(self.entries) * int(RETAINED_BATCHES),
            )
        return self.entries[producer]

    def _add(self, entry: ProducerStateEntry, epoch: int, batch: BatchMetadata) -> None:
        append_batch(self.rules, entry, self.batches, epoch, batch)
        self.log_end_offset = batch.last_offset + 1

    def op_append(self, step: Fields) -> None:
        """ProducerAppendInfo.appendDataBatch: without the search for duplicates."""
        entry = self._entry(step.take("producer", 1))
        epoch, first = step.take("epoch"), step.take("first_sequence")
        offset = step.take("offset")
        batch = record(
            BatchMetadata,
            first_sequence=first,
            last_sequence=step.take("last_sequence", first),
            base_offset=step.take("base_offset", offset),
            last_offset=offset,
            timestamp_ms=step.take("timestamp_ms", 0),
        )
        error = int(errors.NONE)
        if step.take("origin", "client") == "client":
            error = check_producer_epoch(entry, epoch)
            if error == errors.NONE:
                error = check_sequence(self.rules, entry, epoch, first)
        _expect(error, step)
        if error == errors.NONE:
            self._add(entry, epoch, batch)

    def op_produce(self, step: Fields) -> None:
        """Log.appendAsLeader: duplicates are searched for first, offsets are the next ones."""
        entry = self._entry(step.take("producer", 1))
        epoch, first, count = step.take("epoch"), step.take("first_sequence"), step.take("count")
        last = increment_sequence(first, count - 1)
        error, duplicate = validate_batch(self.rules, entry, self.batches, epoch, first, last)
        _expect(error, step)
        self.answered_offset = None
        if duplicate != NO_BATCH:
            self.answered_offset = self.batches[duplicate].base_offset
        elif error == errors.NONE:
            self.answered_offset = self.log_end_offset
            batch = record(
                BatchMetadata,
                first_sequence=first,
                last_sequence=last,
                base_offset=self.log_end_offset,
                last_offset=self.log_end_offset + count - 1,
            )
            self._add(entry, epoch, batch)

    def op_marker(self, step: Fields) -> None:
        entry = self._entry(step.take("producer", 1))
        epoch = step.take("epoch")
        error = check_producer_epoch(entry, epoch)
        _expect(error, step)
        if error == errors.NONE:
            enter_producer_epoch(entry, self.batches, epoch)
            entry.last_timestamp_ms = step.take("timestamp_ms", 0)

    def op_truncate_to(self, step: Fields) -> None:
        offset = step.take("offset")
        for entry in self.entries.values():
            truncate_producer_to(entry, self.batches, offset)
        self.log_end_offset = min(self.log_end_offset, offset)

    def op_truncate_head(self, step: Fields) -> None:
        log_start_offset = step.take("log_start_offset")
        for entry in self.entries.values():
            truncate_producer_head(self.rules, entry, self.batches, log_start_offset)

    def op_remove_expired(self, step: Fields) -> None:
        now_ms, expiration_ms = step.take("now_ms"), step.take("expiration_ms")
        for entry in self.entries.values():
            if is_producer_expired(entry, now_ms, expiration_ms):
                forget_producer(entry)

    def see_active_producers(self) -> list[int]:
        return sorted(p for p, entry in self.entries.items() if entry.producer_epoch != -1)

    def see_producer_epoch(self) -> int:
        return self._entry(1).producer_epoch

    def see_last_sequence(self) -> int:
        return self._entry(1).last_sequence

    def see_first_sequence(self) -> int:
        kept = self.see_batches()
        return int(kept[0][0]) if kept else -1

    def see_first_offset(self) -> int:
        kept = self.see_batches()
        return kept[0][2] if kept else -1

    def see_last_offset(self) -> int:
        kept = self.see_batches()
        return kept[-1][3] if kept else -1

    def see_batches(self) -> list[list[int]]:
        entry = self._entry(1)
        places = [
            entry.first_batch + (entry.oldest + number) % int(RETAINED_BATCHES)
            for number in range(entry.batch_count)
        ]
        return [
            [
                int(self.batches[place].first_sequence),
                int(self.batches[place].last_sequence),
                int(self.batches[place].base_offset),
                int(self.batches[place].last_offset),
            ]
            for place in places
        ]

    def see_answered_offset(self) -> int | None:
        return self.answered_offset

    def see_log_end_offset(self) -> int:
        return int(self.log_end_offset)

    def see_duplicate_of(self, asked: Json) -> list[Json]:
        found = []
        for each in asked:
            place = find_duplicate(
                self._entry(1),
                self.batches,
                each["epoch"],
                each["first_sequence"],
                each["last_sequence"],
            )
            result = None if place == NO_BATCH else int(self.batches[place].base_offset)
            found.append({**each, "result": result})
        return found

    def see_incremented(self, asked: Json) -> list[Json]:
        return [
            {**each, "result": int(increment_sequence(each["sequence"], each["by"]))}
            for each in asked
        ]

    def see_decremented(self, asked: Json) -> list[Json]:
        return [
            {**each, "result": int(decrement_sequence(each["sequence"], each["by"]))}
            for each in asked
        ]


def _expect(error: int, step: Fields) -> None:
    """The error that a step names, or none."""
    expected = step.take("expect_error", None)
    wanted = int(errors.NONE) if expected is None else error_code(expected)
    assert error == wanted, f"{errors.NAMES[int(error)]}, expected {expected}"
