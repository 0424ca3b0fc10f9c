"""A question in words: which one it is, and its parameters.

The words of a name may be anywhere in the text, in any order and case: ``loss of AZ b`` is ``AZ
loss`` with the rack b. A parameter has its keyword before it (``for 5m``). Racks, topics and
brokers may follow without one, in the order of the question's parameters.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, NamedTuple

from tidegauge.compiled.errors import TidegaugeError
from tidegauge.replication.release_versions import Release
from tidegauge.scenario.model.scenario import Scenario
from tidegauge.scenario.text.errors import did_you_mean, one_line
from tidegauge.simulation.quantities import parse_bandwidth, parse_size, parse_time


class QuestionError(TidegaugeError):
    """Words that are no question about this cluster."""


class Given(NamedTuple):
    """The parameters of a question; the default stands for one that is not given."""

    rack: str | None = None
    brokers: tuple[int, ...] = ()
    topics: tuple[str, ...] = ()
    #: The number of brokers that are restarted together.
    batch: int = 1
    lasts_us: int | None = None
    #: The release that nodes are upgraded to; None: they keep theirs.
    release: str | None = None
    #: The additional time of each write.
    delay_us: int | None = None
    #: Bytes per second; None: no limit.
    throttle: int | None = None
    #: The assumed size of each moving replica's log; None: that of the file.
    replica_bytes: int | None = None
    #: The duration of the roll by itself, which a first run has measured; None: no run has.
    roll_us: int | None = None


class Case(NamedTuple):
    """The faults and steps of a question, as in a scenario."""

    #: The longest time until they are over.
    lasts_us: int
    faults: Sequence[Mapping[str, Any]] = ()
    steps: Sequence[Mapping[str, Any]] = ()
    #: Fields of the scenario's ``controllers`` that it needs; the others stay.
    controllers: Mapping[str, Any] = {}


class Plan(NamedTuple):
    """One of several ways of an operator, which are compared."""

    #: The commands in their order: ``remove, add``.
    name: str
    case: Case
    #: The voters of which one more may die.
    others: Sequence[int]


class Question(NamedTuple):
    """An entry of the table."""

    name: str
    #: The fault, in a few words.
    meaning: str
    example: str
    #: Other names than its own.
    other_names: Sequence[str]
    #: Its parameters, by the names of their fields: in this order those without keywords follow.
    takes: Sequence[str]
    #: Makes its case for a cluster. The last argument is its begin, in microseconds.
    case: Callable[[Scenario, Given, int], Case] | None
    #: The name of the operation that a first run measures, for the time of the fault in it.
    during: str = ""
    #: Makes the plans that are compared, where there is no single case.
    plans: Callable[[Scenario, Given, int], Sequence[Plan]] | None = None

    @property
    def slug(self) -> str:
        """Its name in names of files and faults."""
        return self.name.lower().replace(" ", "-")

    def error(self, reason: str) -> QuestionError:
        """The error about its parameters, with an example of them."""
        return QuestionError(one_line(f"{self.name}: {reason} (example: {self.example})"))


class Asked(NamedTuple):
    """A question that was asked about a cluster."""

    question: Question
    given: Given


class _Parameter(NamedTuple):
    """The words for a parameter, and how its value is read: of a text, for a cluster."""

    keywords: Sequence[str]
    read: Callable[[str, Scenario], object]


def _rack(text: str, cluster: Scenario) -> str:
    (rack,) = _known([text], cluster.cluster.racks, "rack")
    return rack


def _brokers(text: str, cluster: Scenario) -> tuple[int, ...]:
    known = {str(broker): broker for broker in cluster.broker_ids()}
    return tuple(known[name] for name in _known(text.split(","), known, "broker"))


def _topics(text: str, cluster: Scenario) -> tuple[str, ...]:
    return tuple(_known(text.split(","), [each.name for each in cluster.topics], "topic"))


def _known(names: Sequence[str], known: Iterable[str], noun: str) -> Sequence[str]:
    """The names, if each is known."""
    present = list(known)
    for name in names:
        if name not in present:
            raise ValueError(f"there is no {noun} {name}; {did_you_mean(name, present)}")
    return names


def _release(text: str, cluster: Scenario) -> str:
    Release.parse(text).mode(cluster.mode)
    return text


def _positive(text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise ValueError(f"must be 1 or more, not {text}")
    return int(text)


def _lasting(text: str) -> int:
    duration_us = parse_time(text)
    if duration_us == 0:
        raise ValueError("must be longer than 0s")
    return duration_us


#: All parameters, by their fields of :class:`Given`.
PARAMETERS: Mapping[str, _Parameter] = {
    "rack": _Parameter(("rack", "az", "zone"), _rack),
    "brokers": _Parameter(("broker", "brokers"), _brokers),
    "topics": _Parameter(("topic", "topics"), _topics),
    "batch": _Parameter(("batch",), lambda text, _: _positive(text)),
    "release": _Parameter(("to", "release"), _release),
    "lasts_us": _Parameter(("for",), lambda text, _: _lasting(text)),
    "delay_us": _Parameter(("delay", "by"), lambda text, _: _lasting(text)),
    "throttle": _Parameter(("throttle",), lambda text, _: parse_bandwidth(text)),
    "replica_bytes": _Parameter(("assuming",), lambda text, _: parse_size(text)),
}

#: Parameters that need no keyword.
_NAMES = ("rack", "brokers", "topics")

#: Words without a meaning of their own.
_FILLERS = frozenset(
    {*("a", "an", "the", "my", "our", "i", "we", "what", "when", "if", "is", "has", "happens")}
    | {"during", "then", "while"}
    | {"and", "at", "from", "in", "of", "on", "to", "with"}
)

#: Other spellings of parameters, and the one that is read.
_SPELLINGS = (
    (re.compile(r",?\s*\b(\d+) at (?:a time|once)\b", re.IGNORECASE), r" batch \1"),
    (re.compile(r"(?:with|assuming)\s+(\d\S*) (?:a|per) replica\b", re.IGNORECASE), r"assuming \1"),
    (re.compile(r"(?<=\d)\s*(?:,|\band\b)\s*(?=\d)", re.IGNORECASE), ","),
    (re.compile(r"(\d)\s*(?:seconds?|secs?)\b", re.IGNORECASE), r"\1s"),
    (re.compile(r"(\d)\s*(?:minutes?|mins?)\b", re.IGNORECASE), r"\1m"),
    (re.compile(r"(\d)\s*hours?\b", re.IGNORECASE), r"\1h"),
)


def read_question(text: str, questions: Sequence[Question], cluster: Scenario) -> Asked:
    """The question in a text, and its parameters.

    Args:
        text: the words of a person.
        questions: all questions.
        cluster: the cluster of the question.

    Raises:
        QuestionError: the question is unknown, or the cluster does not have what it names.
    """
    for spelling, read in _SPELLINGS:
        text = spelling.sub(read, text)
    words = [word.rstrip("?!;:,.") for word in text.split()]
    errors = []
    # ``rack`` may be a part of the name, or the keyword of a parameter.
    for question, name in _named(words, questions):
        try:
            return Asked(question, _given(question, _without(words, name), cluster))
        except ValueError as error:
            errors.append(question.error(str(error)))
    raise errors[0] if errors else QuestionError(_unknown(text, questions))


def _names(question: Question) -> list[str]:
    return [question.name.lower(), *question.other_names]


def _named(
    words: Sequence[str], questions: Sequence[Question]
) -> list[tuple[Question, Sequence[str]]]:
    """The questions that have a name of these words, with its words; the longest name first."""
    present = {word.lower() for word in words}
    named = [
        (question, name.split())
        for question in questions
        for name in _names(question)
        if present.issuperset(name.split())
    ]
    return sorted(named, key=lambda found: -len(found[1]))


def _without(words: Sequence[str], name: Sequence[str]) -> list[str]:
    """The words that are left after those of a name, each taken once."""
    taken, left = list(name), []
    for word in words:
        if word.lower() in taken:
            taken.remove(word.lower())
        else:
            left.append(word)
    return left


def _given(question: Question, words: Sequence[str], cluster: Scenario) -> Given:
    """The values of its parameters.

    Raises:
        ValueError: a word is none of them, or a value is missing or wrong.
    """
    of_keyword = {
        keyword: field for field in question.takes for keyword in PARAMETERS[field].keywords
    }
    values: dict[str, Any] = {}
    rest = iter(words)
    for word in rest:
        text: str | None = word
        field = of_keyword.get(word.lower())
        if field is not None:
            text = next(rest, None)
        elif word.lower() in _FILLERS:
            continue
        else:
            names = (each for each in question.takes if each in _NAMES and each not in values)
            field = next(names, None)
        if field is None:
            raise ValueError(f"{word!r} is not a part of it")
        if text is None:
            raise ValueError(f"nothing follows {word!r}")
        values[field] = PARAMETERS[field].read(text, cluster)
    return Given(**values)


def _unknown(text: str, questions: Sequence[Question]) -> str:
    """The error about an unknown question: the nearest name, and all questions with examples."""
    of_name = {name: question for question in questions for name in _names(question)}
    nearest = get_close_matches(text.lower(), of_name, n=1)
    hint = f"did you mean {of_name[nearest[0]].name}? " if nearest else ""
    width = max(len(question.name) for question in questions)
    return "\n".join(
        [
            f"{one_line(text)}: unknown question; {hint}All questions, each with an example:",
            *(f"  {question.name:{width}}  {question.example}" for question in questions),
        ]
    )
