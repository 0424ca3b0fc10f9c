"""Layouts of logs other than Kafka's own: found in a sample, and brought into Kafka's own.

A line of most layouts has some words before its message: the time and the level, in either order;
between and behind them a thread, a logger, a line number, a dash; and before them the words that
every line of the file has, such as the container's name, or the time and the host of a journal. A
thread in brackets is one word. So a layout is the number of words in each of these places, and the
place of the logger. The number is counted where a message begins that is surely one of Kafka's.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from typing import NamedTuple, Self

from tidegauge.real_cluster.logs.cut_lines import CutLines, cut_lines_of
from tidegauge.real_cluster.logs.foreign_dates import (
    ForeignTimes,
    UnreadTimesError,
    shown,
    times_in,
)
from tidegauge.real_cluster.logs.json_lines import JsonLines, json_lines_of
from tidegauge.real_cluster.logs.log_layout import ENTRY, HEADER, LEVEL, SECOND, ZONE, LogClock
from tidegauge.real_cluster.logs.record_layouts import Records, is_newest_first, records_of
from tidegauge.real_cluster.logs.shared_lines import ALL_LINES, SPEAKER_ID, LinesOf

#: The beginning of a message: most have the speaker in brackets, with its id.
_MESSAGE = re.compile(rb"\[[A-Z]\w*+ [^\]\n=]{0,300}+=|Kafka version: |Registered |starting[ ]")
#: A message may have the beginnings of others in it.
_SAMPLE_BEGINS, _SAMPLE_MESSAGES = 1_000, 300

_TIME = (
    rb"[\[(]?(?P<second>" + SECOND + rb")(?P<fraction>[,.]\d{3})?+\d*+"
    rb"(?:[ ]?(?P<zone>" + ZONE + rb")(?!\w))?+[\])]?[,:|]?"
)
_LEVEL = rb"(?:[\[(][ ]*+)?(?<![\w.-])(?P<level>" + LEVEL + rb")(?![\w.-])(?:[ ]*+[\])])?+[:|]?"
_WORD = rb"(?:\[[^\]\n]*+\]\S*+|\S++)"
_SPACE = rb"[ \t]++"
#: A logger, bare or in brackets, with a line number: ``[kafka.server.KafkaServer]``, ``Log:66``.
_LOGGER_WORD = re.compile(
    rb"[\[(]?(?:[a-zA-Z$][\w$-]*\.)+[\w$-]+(?::\d+)?[\])]?[:-]?"
    rb"|[A-Z][\w$]*[a-z][\w$]*(?::\d+)?:?|\w+:\d+"
)
_LOGGER = rb"[\[(]?+(?P<logger>[\w.$-]*+)\S*+"
#: The logger at the end of a line; some layouts put the thread behind it.
LOGGER_AT_END = re.compile(rb"[ \t]\(([\w.$-]*)(?::\d+)?\)(?: \[[^\]\n]*\])?[ \r]*$", re.MULTILINE)

_TIMES, _LEVELS, _WORDS = (re.compile(each) for each in (_TIME, _LEVEL, _WORD))
#: A file whose messages have no speaker is taken to have nothing between level and message.
_LEVEL_AND_MESSAGE = re.compile(_LEVEL + _SPACE)
_TABBED_LOGGER = re.compile(rb"\t(?=\([\w.$-]*(?::\d+)?\)[ \r]*$)", re.MULTILINE)
#: Colors of a terminal, and byte order marks, which editors and syslog put before a text.
_UNSEEN = re.compile(rb"\x1b\[[\d;]*[A-Za-z]|\xef\xbb\xbf")
#: Words that name no node: numbers, times, months, and those of container engines.
_NAMELESS = re.compile(
    rb"[\W\d_]*|20\d\d-\S*|[A-Z][a-z]{2}|std(?:out|err)|[FP]|\[?(?:" + LEVEL + rb")\]?"
)
_DIGIT = re.compile(rb"\d")
#: Behind the name of a file, as grep writes it.
_LINE_NUMBER = rb"(?:\d++:)?+"
_MOST_NAMES = 200
#: JSON objects inside of the texts of JSON objects.
_DEEPEST = 3
#: At least one of so many messages is in one line.
_MOST_LONG = 10


class Layout(NamedTuple):
    """The steps that bring the lines of a file into Kafka's own layout; each may be absent."""

    #: Records of several lines as JSON objects.
    records: Records | None = None
    #: Lines that a container runtime has cut into several.
    cut: CutLines | None = None
    #: JSON objects, and those inside of their texts.
    json: tuple[JsonLines, ...] = ()
    #: It has colors of a terminal or byte order marks.
    has_unseen: bool = False
    #: Times in another form.
    times: ForeignTimes | None = None
    #: The words that every line begins with.
    prefix: tuple["_PrefixWord", ...] = ()
    #: The place of the word in the prefix that names the node; None: none does.
    name_place: int | None = None
    #: A line with its words before the message, and the same line in Kafka's own layout.
    head: re.Pattern[bytes] | None = None
    own_line: bytes = b""
    #: A tab is before the logger at the end of a line.
    is_tabbed: bool = False
    #: The lines that are read.
    part: LinesOf = ALL_LINES

    @property
    def is_own(self) -> bool:
        """Whether the file is in Kafka's own layout already."""
        return self._replace(part=ALL_LINES) == Layout()

    @property
    def mark(self) -> bytes:
        """A line break and the first bytes of each record; empty: the file is read as a whole."""
        if self.is_own:
            return b"\n" + ENTRY
        return b"\n" if self.records is None else self.records.mark

    def begin_of_whole(self, data: bytes) -> int:
        """The place of the first record that surely begins in a part of a file; 0: there is none.

        The first byte of the part may be in the middle of one.
        """
        begin = data.find(self.mark) + 1
        return begin if self.cut is None else self.cut.begin_of_whole(data, begin)

    def end_of_whole(self, data: bytes) -> int:
        """The place behind the last record that is surely whole; 0: there is none."""
        end = data.rfind(self.mark) + 1
        return end if self.cut is None else self.cut.end_of_whole(data, end)

    def own(self, lines: bytes) -> bytes:
        """Whole lines of the file in Kafka's own layout."""
        texts = self.texts(lines)
        if self.part.names:
            texts = b"".join(re.findall(self._prefix() + rb"([^\n]*+\n?)", texts, re.MULTILINE))
        elif self.prefix:
            texts = re.sub(self._prefix(), b"", texts, flags=re.MULTILINE)
        if self.head is not None:
            texts = self.head.sub(self.own_line, texts)
        return _TABBED_LOGGER.sub(b" ", texts) if self.is_tabbed else texts

    def _prefix(self) -> bytes:
        """The pattern of the prefix of a line."""
        words = [each.word for each in self.prefix]
        if self.name_place is not None and self.part.names:
            words[self.name_place] = rb"(?:" + rb"|".join(map(re.escape, self.part.names)) + rb")"
        gaps = (each.gap for each in self.prefix)
        return b"^" + b"".join(chain.from_iterable(zip(words, gaps, strict=True)))

    def texts(self, lines: bytes) -> bytes:
        """The lines without JSON and colors, each whole and with its time in Kafka's own form."""
        lines = self._objects(lines)
        if self.cut is not None:
            lines = self.cut.joined(lines)
        for json in self.json:
            lines = json.texts(lines)
        if self.has_unseen:
            lines = _UNSEEN.sub(b"", lines)
        return lines if self.times is None else self.times.own(lines)

    def _objects(self, lines: bytes) -> bytes:
        return lines if self.records is None else self.records.objects(lines)

    def chosen(self, block: bytes) -> bytes:
        """The entries of the node in a block of whole entries in Kafka's own layout."""
        return block if self.part.sharer is None else self.part.sharer.entries_in(block)

    def names_in(self, lines: bytes) -> set[bytes]:
        """The words of lines that name a node; other words, too, where lines are noise."""
        assert self.name_place is not None
        if len(self.prefix) == 1 and self.json and self.json[0].name is not None:
            return self.json[0].names_in(self._objects(lines))
        before = b"".join(each.word + each.gap for each in self.prefix[: self.name_place])
        name = rb"^" + before + rb"(" + self.prefix[self.name_place].word + rb")"
        return set(re.findall(name, self.texts(lines), re.MULTILINE))

    def of(self, part: LinesOf) -> Self:
        """The layout of the lines of one node alone."""
        names = tuple(name.decode("utf-8", "replace") for name in part.names)
        return self._replace(
            part=part, json=tuple(each._replace(names=names) for each in self.json)
        )


class _PrefixWord(NamedTuple):
    """The patterns of a word before each line, and of the gap behind it."""

    word: bytes = _WORD
    gap: bytes = _SPACE


class _Shape(NamedTuple):
    """The numbers of words before a message."""

    prefix: int
    #: Spaces behind the prefix; 0: it ends with a colon.
    gap: int
    is_level_first: bool
    #: Words between time and level, and behind both.
    between: int
    behind: int
    #: The time in brackets comes first, the level is bare.
    is_bracketed: bool


class _Head(NamedTuple):
    """The words before a message."""

    shape: _Shape
    prefix: list[bytes]
    words: list[bytes]
    #: The id of the speaker; None: the line has none.
    node: bytes | None
    has_logger_at_end: bool


def layout_of(sample: bytes) -> Layout | None:
    """The layout of a file that begins so; None: it is no log.

    Raises:
        UnreadTimesError: no line tells the meaning of its times.
    """
    records = records_of(sample)
    layout = Layout(records=records, cut=None if records else cut_lines_of(sample))
    texts = layout.texts(sample)
    while len(layout.json) < _DEEPEST and (json := json_lines_of(texts)) is not None:
        layout, texts = layout._replace(json=(*layout.json, json)), json.texts(texts)
    layout = layout._replace(has_unseen=_UNSEEN.search(texts) is not None)
    texts = layout.texts(sample)
    layout = layout._replace(times=times_in(texts))
    texts = layout.texts(sample)
    heads = list(islice(_heads_in(texts), _SAMPLE_MESSAGES))
    if not heads:
        return None
    shape = Counter(head.shape for head in heads).most_common(1)[0][0]
    layout = _of_shape(layout, shape, [head for head in heads if head.shape == shape])
    layout = layout._replace(is_tabbed=_TABBED_LOGGER.search(texts) is not None)
    return _in_order(layout, sample)


def is_log(part: bytes) -> bool:
    """Whether lines from the middle of a file have a layout of their own."""
    try:
        return layout_of(part.partition(b"\n")[2]) is not None
    except UnreadTimesError:
        return True


def _in_order(layout: Layout, sample: bytes) -> Layout | None:
    """The layout of a file with its oldest entry first; None: none is found with this layout.

    Raises:
        UnreadTimesError: the newest entry is first.
    """
    clock = LogClock()
    headers = islice(HEADER.finditer(layout.own(sample)), _SAMPLE_BEGINS)
    times_ms = [*map(clock.time_ms, headers)]
    if not times_ms:
        return None
    if is_newest_first(times_ms):
        if layout.records is None or layout.records.mark:
            raise UnreadTimesError(f"has its newest entry first: turn it round ({shown(sample)})")
        layout = layout._replace(records=layout.records._replace(is_newest_first=True))
    return layout


def _heads_in(texts: bytes) -> Iterator[_Head]:
    """The words before the first message of each line that has one.

    Where no message is surely one of Kafka's, messages begin behind the level.
    """
    begins = [found.start() for found in islice(_MESSAGE.finditer(texts), _SAMPLE_BEGINS)]
    levels = islice(_LEVEL_AND_MESSAGE.finditer(texts), _SAMPLE_BEGINS)
    line_end = 0
    for at in begins or [found.end() for found in levels]:
        if at >= line_end:
            begin = texts.rfind(b"\n", 0, at) + 1
            line_end = texts.find(b"\n", at) + 1 or len(texts)
            head = _head_of(texts[begin:at], texts[at:line_end])
            if head is not None:
                yield head


def _head_of(text: bytes, message: bytes) -> _Head | None:
    """The words before a message; None: no time and level are among them."""
    time = level = None
    for time in _TIMES.finditer(text):  # noqa: B007  # the last
        pass
    for level in _LEVELS.finditer(text):  # noqa: B007  # the last
        pass
    if time is None or level is None:
        return None
    first, second = (time, level) if time.start() < level.start() else (level, time)
    prefix = text[: first.start()]
    between = _WORDS.findall(text[first.end() : second.start()])
    behind = _WORDS.findall(text[second.end() :])
    own = HEADER.match(text, first.start())
    words = _WORDS.findall(re.sub(rb":" + _LINE_NUMBER + rb"$", b":", prefix))
    shape = _Shape(
        prefix=len(words),
        gap=len(prefix) - len(prefix.rstrip(b" \t")),
        is_level_first=first is level,
        between=len(between),
        behind=len(behind),
        is_bracketed=own is not None and own.start(4) == level.start("level"),
    )
    speaker = SPEAKER_ID.match(message)
    return _Head(
        shape,
        words,
        [*between, *behind],
        None if speaker is None else speaker[1],
        (logger := LOGGER_AT_END.search(message)) is not None and b"." in logger[1],
    )


def _of_shape(layout: Layout, shape: _Shape, heads: Sequence[_Head]) -> Layout:
    """A layout with words before the message."""
    if shape.prefix or (shape.gap and not shape.is_level_first):
        layout = layout._replace(prefix=_prefix(shape), name_place=_name_place(heads))
    place = _logger_place(heads)
    # Messages of several lines have it behind the last one.
    with_logger = sum(head.has_logger_at_end for head in heads)
    has_logger = place is None and with_logger > 0 and _MOST_LONG * with_logger >= len(heads)
    if shape.is_bracketed and not shape.between and not shape.behind and has_logger:
        return layout
    words = [
        (_LOGGER if number == place else _WORD) + _SPACE
        for number in range(shape.between + shape.behind)
    ]
    between, behind = b"".join(words[: shape.between]), b"".join(words[shape.between :])
    first, second = (_LEVEL, _TIME) if shape.is_level_first else (_TIME, _LEVEL)
    space = rb"[ \t]*+"
    head = (
        rb"^[ ]*+" + first + space + between + second + space + behind + rb"(?P<message>[^\r\n]*+)"
    )
    logger = b"" if has_logger else b" ()" if place is None else rb" (\g<logger>)"
    return layout._replace(
        head=re.compile(head, re.MULTILINE),
        own_line=rb"[\g<second>\g<fraction>\g<zone>] \g<level> \g<message>" + logger,
    )


def _prefix(shape: _Shape) -> tuple[_PrefixWord, ...]:
    """The patterns of the prefix; of no word there are spaces alone."""
    last = _PrefixWord(_WORD if shape.prefix else b"", rb"[ \t]{%d}" % shape.gap)
    if not shape.gap:
        last = _PrefixWord(rb"[^\s:]++:", _LINE_NUMBER)
    return (*[_PrefixWord()] * (shape.prefix - 1), last)


def _name_place(heads: Sequence[_Head]) -> int | None:
    """The place of the word that names the node.

    Lines with the same word there have speakers of one id. Of several such places it is the one
    that tells most nodes apart, else one whose words have numbers.
    """
    ranks: dict[int, tuple[int, bool, int]] = {}
    for place in range(len(heads[0].prefix)):
        nodes: dict[bytes, set[bytes]] = defaultdict(set)
        for head in heads:
            nodes[head.prefix[place]] |= {head.node} if head.node else set()
        if (
            len(nodes) <= _MOST_NAMES
            and not any(map(_NAMELESS.fullmatch, nodes))
            and all(len(ids) <= 1 for ids in nodes.values())
        ):
            told = len({node for ids in nodes.values() for node in ids})
            ranks[place] = (told, all(map(_DIGIT.search, nodes)), -place)
    return max(ranks, key=ranks.__getitem__, default=None)


def _logger_place(heads: Sequence[_Head]) -> int | None:
    """The place of the logger among the words between and behind time and level."""
    counts = Counter(
        place
        for head in heads
        for place, word in enumerate(head.words)
        if _LOGGER_WORD.fullmatch(word)
    )
    found = counts.most_common(1)
    return found[0][0] if found and 2 * found[0][1] > len(heads) else None
