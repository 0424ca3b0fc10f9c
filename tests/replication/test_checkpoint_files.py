"""Checkpoint files: what each of Kafka's readers makes of them, sound, odd or damaged.

Each test names the class of Kafka and the releases whose rule it tells. What Java's own
methods do (``readLine``, ``split``, ``parseInt``) was also seen in a JVM.
"""

from __future__ import annotations

import pickle
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegauge.replication.checkpoint_files import (
    LEADER_EPOCH_CHECKPOINT,
    REPLICATION_OFFSET_CHECKPOINT,
    CheckpointError,
    CheckpointFlaw,
    CheckpointFormat,
    EpochStart,
    TopicPartition,
    parse_leader_epochs,
    parse_offsets,
    render_leader_epochs,
    render_offsets,
)

SCALA_0_10 = CheckpointFormat.SCALA_0_10
SCALA_0_11 = CheckpointFormat.SCALA_0_11
SCALA = CheckpointFormat.SCALA
JAVA = CheckpointFormat.JAVA

every_reader = pytest.mark.parametrize("reader", CheckpointFormat)
lenient_reader = pytest.mark.parametrize("reader", [SCALA_0_10, SCALA_0_11])
strict_reader = pytest.mark.parametrize("reader", [SCALA, JAVA])
scala_reader = pytest.mark.parametrize("reader", [SCALA_0_10, SCALA_0_11, SCALA])

readers = st.sampled_from(CheckpointFormat)
int32 = st.integers(-(2**31), 2**31 - 1)
int64 = st.integers(-(2**63), 2**63 - 1)
#: All that a line can hold as a topic, and so more than the names that Kafka permits.
topics = st.text(st.characters(exclude_categories=["Cs"], exclude_characters=" \t\n\v\f\r"))
offset_maps = st.dictionaries(st.builds(TopicPartition, topics, int32), int64, max_size=5)
epoch_lists = st.lists(st.builds(EpochStart, int32, int64), max_size=5)

#: Bytes that look enough like a checkpoint to get past the first checks.
damaged_files = st.lists(
    st.sampled_from(
        [b"0", b"0", b"1", b"2", b"-1", b"foo", b"9" * 30, b" ", b" ", b"\t", b"\r", b"\xff"]
        + [b"\n"] * 5
    ),
    max_size=20,
).map(b"".join) | st.binary(max_size=40)

Value = dict[TopicPartition, int] | list[EpochStart]


def offsets(*entries: tuple[str, int, int]) -> dict[TopicPartition, int]:
    return {TopicPartition(topic, partition): offset for topic, partition, offset in entries}


def render(value: Value) -> bytes:
    return render_offsets(value) if isinstance(value, dict) else render_leader_epochs(value)


def parse_as(kind: type[object], content: bytes, reader: CheckpointFormat) -> Value:
    if kind is dict:
        return parse_offsets(content, reader)
    return list(parse_leader_epochs(content, reader))


def outcome(kind: type[object], content: bytes, reader: CheckpointFormat) -> Value | CheckpointFlaw:
    try:
        return parse_as(kind, content, reader)
    except CheckpointError as error:
        return error.flaw


def refusal_of_offsets(content: bytes, reader: CheckpointFormat) -> CheckpointError:
    with pytest.raises(CheckpointError) as refused:
        parse_offsets(content, reader)
    return refused.value


def refusal_of_epochs(content: bytes, reader: CheckpointFormat) -> CheckpointError:
    with pytest.raises(CheckpointError) as refused:
        parse_leader_epochs(content, reader)
    return refused.value


class TestSoundFiles:
    @every_reader
    def test_epoch_29_starts_at_offset_2485991681(self, reader: CheckpointFormat) -> None:
        content = b"0\n1\n29 2485991681\n"
        assert parse_leader_epochs(content, reader) == (EpochStart(29, 2485991681),)
        assert render_leader_epochs([EpochStart(epoch=29, start_offset=2485991681)]) == content

    @every_reader
    def test_high_watermarks_of_two_partitions(self, reader: CheckpointFormat) -> None:
        content = b"0\n2\nfoo 1 5\nbar 2 10\n"
        assert parse_offsets(content, reader) == offsets(("foo", 1, 5), ("bar", 2, 10))
        assert render_offsets(offsets(("foo", 1, 5), ("bar", 2, 10))) == content

    def test_lines_are_written_in_the_order_given(self) -> None:
        assert render_offsets(offsets(("b", 1, 1), ("a", 0, 2))) == b"0\n2\nb 1 1\na 0 2\n"

    def test_no_entries_are_written_as_a_count_of_0(self) -> None:
        assert render_offsets({}) == render_leader_epochs([]) == b"0\n0\n"

    @every_reader
    @pytest.mark.parametrize("content", [b"", b"0", b"0\n", b"0\n0", b"0\n0\n"])
    def test_a_file_may_end_before_its_count(
        self, content: bytes, reader: CheckpointFormat
    ) -> None:
        # The constructor of every release creates a missing file with no bytes in it.
        assert parse_offsets(content, reader) == {}
        assert parse_leader_epochs(content, reader) == ()

    @given(offset_maps, readers)
    def test_offsets_are_read_back_as_written(
        self, written: dict[TopicPartition, int], reader: CheckpointFormat
    ) -> None:
        assert parse_offsets(render_offsets(written), reader) == written

    @given(epoch_lists, readers)
    def test_epochs_are_read_back_as_written(
        self, written: list[EpochStart], reader: CheckpointFormat
    ) -> None:
        assert parse_leader_epochs(render_leader_epochs(written), reader) == tuple(written)


class TestLines:
    """BufferedReader.readLine, all releases."""

    @every_reader
    @pytest.mark.parametrize("end", [b"\n", b"\r", b"\r\n"])
    def test_a_line_ends_at_lf_cr_or_crlf(self, end: bytes, reader: CheckpointFormat) -> None:
        content = end.join([b"0", b"1", b"foo 1 5", b""])
        assert parse_offsets(content, reader) == offsets(("foo", 1, 5))

    @every_reader
    def test_the_last_line_end_may_be_missing(self, reader: CheckpointFormat) -> None:
        assert parse_offsets(b"0\n1\nfoo 1 5", reader) == offsets(("foo", 1, 5))

    @every_reader
    @pytest.mark.parametrize("character", ["\v", "\f", "\x1c", "\x85", "\u2028"])
    def test_nothing_else_ends_a_line(self, character: str, reader: CheckpointFormat) -> None:
        refused = refusal_of_offsets(f"0{character}0\n".encode(), reader)
        assert refused.flaw is CheckpointFlaw.MALFORMED_LINE
        assert refused.line_number == 1

    @every_reader
    @pytest.mark.parametrize(
        ("content", "line_number"),
        [
            (b"\n0\n1\nfoo 1 5\n", 1),
            (b"0\n\n1\nfoo 1 5\n", 2),
            (b"0\n1\n\nfoo 1 5\n", 3),
            (b"0\n1\nfoo 1 5\n\n", 4),
            (b"0\n1\nfoo 1 5\n \t\n", 4),
            (b"0\n0\n\n", 3),
        ],
    )
    def test_an_empty_line_is_malformed_wherever_it_is(
        self, content: bytes, line_number: int, reader: CheckpointFormat
    ) -> None:
        refused = refusal_of_offsets(content, reader)
        assert refused.flaw is CheckpointFlaw.MALFORMED_LINE
        assert refused.line_number == line_number


class TestFields:
    r"""Pattern.split("\\s+"), all releases."""

    @every_reader
    @pytest.mark.parametrize(
        "line", ["foo  1   5", "foo\t1\t5", "foo\v1\f5", "foo 1 5 ", "foo 1 5\t \t"]
    )
    def test_runs_of_white_space_separate_and_may_trail(
        self, line: str, reader: CheckpointFormat
    ) -> None:
        assert parse_offsets(f"0\n1\n{line}\n".encode(), reader) == offsets(("foo", 1, 5))

    @every_reader
    @pytest.mark.parametrize(
        "line", ["foo 1", "foo", "foo 1 5 7", " foo 1 5", "foo\u00a01\u00a05", "foo\x1c1\x1c5"]
    )
    def test_an_offset_takes_three_fields(self, line: str, reader: CheckpointFormat) -> None:
        # Only ASCII white space separates; white space in front makes an empty first field.
        refused = refusal_of_offsets(f"0\n1\n{line}\n".encode(), reader)
        assert refused.flaw is CheckpointFlaw.MALFORMED_LINE
        assert (refused.line_number, refused.line) == (3, line)

    @every_reader
    @pytest.mark.parametrize("line", ["29", "29 7 1", " 29 7", "29 "])
    def test_an_epoch_takes_two_fields(self, line: str, reader: CheckpointFormat) -> None:
        refused = refusal_of_epochs(f"0\n1\n{line}\n".encode(), reader)
        assert refused.flaw is CheckpointFlaw.MALFORMED_LINE

    @every_reader
    def test_an_empty_first_field_is_a_topic_without_a_name(self, reader: CheckpointFormat) -> None:
        assert parse_offsets(b"0\n1\n 1 5\n", reader) == offsets(("", 1, 5))

    def test_an_empty_first_field_is_no_epoch(self) -> None:
        content = b"0\n1\n 5\n"
        assert refusal_of_epochs(content, SCALA).flaw is CheckpointFlaw.MALFORMED_LINE
        assert refusal_of_epochs(content, JAVA).flaw is CheckpointFlaw.NUMBER_FORMAT_UNCHECKED


class TestNumbers:
    """Integer.parseInt and Long.parseLong, all releases."""

    @every_reader
    @pytest.mark.parametrize(
        ("text", "value"),
        [
            ("+7", 7),
            ("-7", -7),
            ("-0", 0),
            ("007", 7),
            ("0" * 5000 + "7", 7),
            ("\u0667", 7),  # Arabic-Indic
            ("\uff17", 7),  # full width
            ("9223372036854775807", 2**63 - 1),
            ("-9223372036854775808", -(2**63)),
        ],
    )
    def test_an_offset_is_a_sign_and_decimal_digits_of_any_script(
        self, text: str, value: int, reader: CheckpointFormat
    ) -> None:
        content = f"0\n1\nfoo 1 {text}\n".encode()
        assert parse_offsets(content, reader) == offsets(("foo", 1, value))

    @pytest.mark.parametrize(
        "text",
        [
            *("x", "-", "+", "--7", "+-7", "7-", "7_0", "7.0", "7e1", "0x7", "7L"),
            *("\u00b2", "\u2167", "\U0001d7d5"),  # superscript, Roman, beyond the basic plane
            *("9223372036854775808", "-9223372036854775809", "9" * 5000),
        ],
    )
    def test_nothing_else_is_an_offset(self, text: str) -> None:
        content = f"0\n1\nfoo 1 {text}\n".encode()
        assert refusal_of_offsets(content, SCALA_0_10).flaw is CheckpointFlaw.MALFORMED_LINE
        assert refusal_of_offsets(content, JAVA).flaw is CheckpointFlaw.NUMBER_FORMAT_UNCHECKED

    @every_reader
    def test_partitions_and_epochs_have_32_bits(self, reader: CheckpointFormat) -> None:
        for number in (2**31 - 1, -(2**31)):
            content = b"0\n1\nfoo %d 5\n" % number
            assert parse_offsets(content, reader) == offsets(("foo", number, 5))
            content = b"0\n1\n%d 5\n" % number
            assert parse_leader_epochs(content, reader) == (EpochStart(number, 5),)
        for number in (2**31, -(2**31) - 1):
            assert "partition" in refusal_of_offsets(b"0\n1\nfoo %d 5\n" % number, reader).reason
            assert "epoch" in refusal_of_epochs(b"0\n1\n%d 5\n" % number, reader).reason

    @scala_reader
    @pytest.mark.parametrize("line", [b"foo one 5", b"foo 1 five", b"foo 1 99999999999999999999"])
    def test_a_bad_number_in_an_entry_is_an_io_error_up_to_3_0(
        self, line: bytes, reader: CheckpointFormat
    ) -> None:
        # OffsetCheckpoint@0.10.2.0, CheckpointFile@0.11.0.0 - 3.0.0: one catch around all.
        refused = refusal_of_offsets(b"0\n1\n%s\n" % line, reader)
        assert refused.flaw is CheckpointFlaw.MALFORMED_LINE
        assert refused.is_io_error

    @pytest.mark.parametrize("line", [b"foo one 5", b"foo 1 five", b"foo 1 99999999999999999999"])
    def test_a_bad_number_in_an_entry_is_unchecked_from_3_1_on(self, line: bytes) -> None:
        # CheckpointFile@3.1.0, 3.8.0: the catch covers version and count only.
        refused = refusal_of_offsets(b"0\n1\n%s\n" % line, JAVA)
        assert refused.flaw is CheckpointFlaw.NUMBER_FORMAT_UNCHECKED
        assert not refused.is_io_error


class TestVersionAndCount:
    """CheckpointFile.read and what was before it, all releases unless a test says."""

    @every_reader
    @pytest.mark.parametrize("content", [b"1\n1\nfoo 5 10\n", b"1", b"-1\n", b"1\nx\n"])
    def test_another_version_is_not_recognized(
        self, content: bytes, reader: CheckpointFormat
    ) -> None:
        refused = refusal_of_offsets(content, reader)
        assert refused.flaw is CheckpointFlaw.UNRECOGNIZED_VERSION
        assert refused.is_io_error

    @every_reader
    @pytest.mark.parametrize("text", ["x", "", " 1", "1 ", "1 2", "2147483648", "\ufeff1"])
    def test_version_and_count_are_a_number_and_nothing_else(
        self, text: str, reader: CheckpointFormat
    ) -> None:
        for content, line_number in ((f"{text}\n1\nfoo 1 5\n", 1), (f"0\n{text}\nfoo 1 5\n", 2)):
            refused = refusal_of_offsets(content.encode(), reader)
            assert refused.flaw is CheckpointFlaw.MALFORMED_LINE
            assert (refused.line_number, refused.line) == (line_number, text)
            assert refused.is_io_error

    @every_reader
    def test_a_version_of_plus_00_is_0(self, reader: CheckpointFormat) -> None:
        assert parse_offsets(b"+00\n+1\nfoo 1 5\n", reader) == offsets(("foo", 1, 5))

    @every_reader
    @pytest.mark.parametrize("count", [0, 1, 3, 2**31 - 1])
    def test_the_count_is_that_of_the_entries(self, count: int, reader: CheckpointFormat) -> None:
        refused = refusal_of_offsets(b"0\n%d\nfoo 1 5\nbar 1 5\n" % count, reader)
        assert refused.flaw is CheckpointFlaw.COUNT_MISMATCH
        assert refused.is_io_error
        refused = refusal_of_epochs(b"0\n%d\n1 5\n2 5\n" % count, reader)
        assert refused.flaw is CheckpointFlaw.COUNT_MISMATCH

    @every_reader
    def test_a_malformed_line_comes_before_the_count(self, reader: CheckpointFormat) -> None:
        refused = refusal_of_offsets(b"0\n7\nfoo 1 5\nbar\n", reader)
        assert refused.flaw is CheckpointFlaw.MALFORMED_LINE

    @scala_reader
    def test_a_negative_count_matches_nothing_up_to_3_0(self, reader: CheckpointFormat) -> None:
        assert refusal_of_offsets(b"0\n-1\n", reader).flaw is CheckpointFlaw.COUNT_MISMATCH
        refused = refusal_of_offsets(b"0\n-1\nbar\n", reader)
        assert refused.flaw is CheckpointFlaw.MALFORMED_LINE

    @pytest.mark.parametrize("entries", [b"", b"foo 1 5\n", b"bar\n"])
    def test_a_negative_count_is_no_capacity_of_a_list_from_3_1_on(self, entries: bytes) -> None:
        # CheckpointFile@3.1.0: new ArrayList<>(expectedSize), before any entry is read.
        refused = refusal_of_offsets(b"0\n-1\n" + entries, JAVA)
        assert refused.flaw is CheckpointFlaw.NEGATIVE_COUNT_UNCHECKED
        assert not refused.is_io_error


class TestDuplicates:
    def test_0_10_counts_distinct_partitions(self) -> None:
        # OffsetCheckpoint@0.10.2.0: compares with the size of the map.
        content = b"0\n2\nfoo 1 5\nfoo 1 7\n"
        assert refusal_of_offsets(content, SCALA_0_10).flaw is CheckpointFlaw.COUNT_MISMATCH
        content = b"0\n1\nfoo 1 5\nfoo 1 7\n"
        assert parse_offsets(content, SCALA_0_10) == offsets(("foo", 1, 7))

    @pytest.mark.parametrize("reader", [SCALA_0_11, SCALA, JAVA])
    def test_later_releases_count_lines_and_take_the_last(self, reader: CheckpointFormat) -> None:
        # OffsetCheckpointFile.read@0.11.0.0 - 3.8.0: a map, made when all is read.
        content = b"0\n2\nfoo 1 5\nfoo 1 7\n"
        assert parse_offsets(content, reader) == offsets(("foo", 1, 7))
        content = b"0\n1\nfoo 1 5\nfoo 1 7\n"
        assert refusal_of_offsets(content, reader).flaw is CheckpointFlaw.COUNT_MISMATCH

    @every_reader
    def test_epochs_are_a_list_and_stay_as_they_are(self, reader: CheckpointFormat) -> None:
        content = b"0\n3\n2 7\n1 5\n2 7\n"
        assert parse_leader_epochs(content, reader) == ((2, 7), (1, 5), (2, 7))


class TestBytesThatAreNotUtf8:
    @lenient_reader
    def test_up_to_2_0_they_become_replacement_characters(self, reader: CheckpointFormat) -> None:
        # CheckpointFile@0.11.0.0 - 2.0.1: an InputStreamReader replaces what it cannot decode.
        assert parse_offsets(b"0\n1\nf\xff 1 5\n", reader) == offsets(("f\ufffd", 1, 5))

    @strict_reader
    def test_from_2_1_on_they_are_an_io_error(self, reader: CheckpointFormat) -> None:
        # CheckpointFile@2.1.0: Files.newBufferedReader throws MalformedInputException.
        refused = refusal_of_offsets(b"0\n2\nfoo 1 5\nf\xff 1 5\n", reader)
        assert refused.flaw is CheckpointFlaw.MALFORMED_INPUT
        assert (refused.line_number, refused.line) == (4, "f\ufffd 1 5")
        assert refused.is_io_error

    @strict_reader
    def test_they_are_noticed_before_anything_else(self, reader: CheckpointFormat) -> None:
        refused = refusal_of_offsets(b"1\nx\nf\xff 1 5\n", reader)
        assert refused.flaw is CheckpointFlaw.MALFORMED_INPUT

    @strict_reader
    def test_a_character_cut_off_at_the_end_is_noticed_only_there(
        self, reader: CheckpointFormat
    ) -> None:
        cut_off = "\u00fc".encode()[:1]
        refused = refusal_of_offsets(b"0\n2\nfoo 1 5\n" + cut_off, reader)
        assert refused.flaw is CheckpointFlaw.MALFORMED_INPUT
        assert refused.line_number == 4
        refused = refusal_of_offsets(b"1\n2\nfoo 1 5\n" + cut_off, reader)
        assert refused.flaw is CheckpointFlaw.UNRECOGNIZED_VERSION


class TestDamagedFiles:
    @given(damaged_files, readers)
    def test_any_bytes_give_a_value_or_a_checkpoint_error(
        self, content: bytes, reader: CheckpointFormat
    ) -> None:
        for kind in (dict, list):
            outcome(kind, content, reader)

    @given(st.data(), offset_maps | epoch_lists, readers)
    def test_a_changed_byte_gives_a_value_or_a_checkpoint_error(
        self, data: st.DataObject, value: Value, reader: CheckpointFormat
    ) -> None:
        content = bytearray(render(value))
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
        outcome(type(value), bytes(content), reader)

    @given(damaged_files)
    def test_what_a_reader_accepts_the_one_before_it_accepts_too(self, content: bytes) -> None:
        # But for 0.10, which counts otherwise.
        for kind in (dict, list):
            in_0_11, in_scala, in_java = (
                outcome(kind, content, reader) for reader in (SCALA_0_11, SCALA, JAVA)
            )
            assert isinstance(in_java, kind) == isinstance(in_scala, kind)
            if isinstance(in_java, kind):
                assert in_java == in_scala == in_0_11

    @given(offset_maps | epoch_lists, readers)
    def test_of_a_torn_file_kafka_accepts_four_forms(
        self, value: Value, reader: CheckpointFormat
    ) -> None:
        """Cut anywhere, a file is refused but in four cases, in which Kafka takes it too.

        Nothing is left of it, or of the version's line alone: it has no entries. Only the
        last line end is missing: it says what it said. The cut goes through the last number:
        its offset is what is left of the digits.
        """
        whole = render(value)
        for cut in range(len(whole)):
            seen = outcome(type(value), whole[:cut], reader)
            accepted = _accepted_though_torn(value, whole, cut)
            if accepted is None:
                assert isinstance(seen, CheckpointFlaw), whole[:cut]
            else:
                assert seen == accepted, whole[:cut]


def _accepted_though_torn(value: Value, whole: bytes, cut: int) -> Value | None:
    """What the first ``cut`` bytes of a file say, None if they are to be refused."""
    if cut <= len(b"0\n"):
        return type(value)()
    if cut == len(whole) - len(b"\n"):
        return value
    last_number = whole.rindex(b" ") + 1 if value else len(whole)
    left = whole[last_number:cut]
    if not re.fullmatch(rb"-?[0-9]+", left):
        return None
    if isinstance(value, dict):
        return {**value, list(value)[-1]: int(left)}
    return [*value[:-1], EpochStart(value[-1].epoch, int(left))]


class TestErrors:
    def test_the_message_names_file_line_and_flaw(self) -> None:
        with pytest.raises(CheckpointError) as refused:
            parse_offsets(b"0\n1\nfoo one 5\n", SCALA, REPLICATION_OFFSET_CHECKPOINT)
        assert str(refused.value) == (
            "replication-offset-checkpoint, line 3: partition is not a 32-bit number: 'foo one 5'"
        )
        with pytest.raises(CheckpointError) as refused:
            parse_leader_epochs(b"0\n2\n29 7\n", JAVA, LEADER_EPOCH_CHECKPOINT)
        assert str(refused.value) == (
            "leader-epoch-checkpoint, line 2: found 1 entries, not 2: '2'"
        )

    def test_the_message_is_one_line_whatever_the_file_holds(self) -> None:
        error = refusal_of_offsets("0\n1\nfoo\x1b[2J\u2028\v".encode() + b"x" * 1000, SCALA)
        assert error.file is None
        assert str(error).startswith("checkpoint file, line 3: not 3 fields")
        assert len(str(error)) < 200
        assert str(error).isprintable()
        assert len(error.line) > 1000

    def test_an_error_travels_between_processes(self) -> None:
        error = refusal_of_offsets(b"0\n1\nfoo one 5\n", JAVA)
        travelled = pickle.loads(pickle.dumps(error))  # noqa: S301  # our own bytes
        assert str(travelled) == str(error)
        assert travelled.flaw is error.flaw
        assert travelled.line_number == error.line_number

    @pytest.mark.parametrize(
        "partition",
        [
            *(TopicPartition("two words", 0), TopicPartition("foo\n", 0)),
            *(TopicPartition("foo", 2**31), TopicPartition("foo", -(2**31) - 1)),
        ],
    )
    def test_nothing_is_written_that_would_not_be_read_back(
        self, partition: TopicPartition
    ) -> None:
        with pytest.raises(ValueError, match="checkpoint"):
            render_offsets({partition: 5})

    def test_no_number_is_written_that_is_too_long(self) -> None:
        with pytest.raises(ValueError, match="64 bits"):
            render_offsets(offsets(("foo", 1, 2**63)))
        with pytest.raises(ValueError, match="64 bits"):
            render_leader_epochs([EpochStart(0, -(2**63) - 1)])
        with pytest.raises(ValueError, match="32 bits"):
            render_leader_epochs([EpochStart(2**31, 0)])


class TestReleases:
    @pytest.mark.parametrize(
        ("release", "reader"),
        [
            *(("0.10.2", SCALA_0_10), ("0.10.2.2", SCALA_0_10)),
            *(("0.11", SCALA_0_11), ("0.11.0.3", SCALA_0_11), ("1.1", SCALA_0_11)),
            *(("2.0", SCALA_0_11), ("2.0.1", SCALA_0_11)),
            *(("2.1", SCALA), ("2.6.3", SCALA), ("3.0", SCALA)),
            *(("3.1", JAVA), ("3.8", JAVA), ("3.9.0", JAVA)),
        ],
    )
    def test_which_release_reads_how(self, release: str, reader: CheckpointFormat) -> None:
        assert CheckpointFormat.of_release(release) is reader

    @pytest.mark.parametrize("release", ["", "2", "two.six"])
    def test_a_release_begins_with_two_numbers(self, release: str) -> None:
        with pytest.raises(ValueError):  # noqa: PT011  # Python's own words will do
            CheckpointFormat.of_release(release)
