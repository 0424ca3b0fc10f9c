"""The page ``docs/checks.md``: each check's promise, the permitted breaks, an example.

It is made from the docstrings of the checks, each in its own file.
"""

from __future__ import annotations

import inspect
from importlib import import_module
from typing import NamedTuple

from tidegauge.laboratory.manual.markdown import of_docstring
from tidegauge.traces.checks import CHECKS, LIVENESS, Check

#: Paragraphs of a check's docstring that begin with one of these words have their own place.
PARTS = ("Permitted", "Example", "Source")

_OPENING = """\
# Checks

This page covers the checks of a run: promises of Kafka's replication, with an example of each.
Compiled code judges eight of them from the rows of the trace, at any trace level; `liveness` is
judged after all faults have ended. `tidegauge run` prints a line for each check, and `summary.json`
has the verdicts below `checks`.

| verdict | meaning |
|---|---|
| holds | no event broke it |
| BROKEN | an event broke it, and nothing permits that: the exit status is 1, and `tidegauge run` \
prints the story of the first event |
| given up | a setting or the release permits every event that broke it: the line names it, and \
the exit status is 0 |
| unknown | no verdict is possible: a partition without a leader, or no liveness phase |

A scenario can expect another verdict (`checks: {exposed_durable: false}`); then the exit status is
1 if the verdict differs.

These causes permit a break:

* **an unclean election** (`unclean.leader.election.enable`, or a request of the operator): the new
  leader is not in the ISR, and records that it lacks are lost;
* **an election of the last known leader** (KIP-966), whatever that setting is: ISR and ELR are
  empty, and it was the last of them;
* **a loss of power before a flush** (`log.flush.interval.messages`): Kafka relies on replicas, not
  on the disk, so a broker that loses power may lose acknowledged records;
* **the release**: KAFKA-14704, from 2.8.0 to 3.4.0, which explains breaks of `committed_agree`
  alone.
"""


class CheckText(NamedTuple):
    """The paragraphs in the docstring of a check."""

    check: Check
    meaning: list[str]
    #: The paragraphs of :data:`PARTS`, without that word.
    parts: dict[str, str]


def documentation() -> str:
    """The page, in Markdown."""
    sections = [_section(text) for text in check_texts()]
    return "\n".join([_OPENING, *sections])


def check_texts() -> list[CheckText]:
    """The text of each check, in the order in which a run prints them."""
    modules = {check: f"tidegauge.traces.{check.room}.{check.name}" for check in CHECKS.values()}
    modules[LIVENESS] = "tidegauge.engine.liveness"
    return [_text(check, module) for check, module in modules.items()]


def _text(check: Check, module: str) -> CheckText:
    _title, *paragraphs = inspect.cleandoc(import_module(module).__doc__ or "").split("\n\n")
    meaning, parts = [], {}
    for paragraph in paragraphs:
        word, _, rest = paragraph.partition(": ")
        if word in PARTS:
            parts[word] = rest
        else:
            meaning.append(paragraph)
    return CheckText(check, meaning, parts)


def _section(text: CheckText) -> str:
    paragraphs = [
        f"## {text.check.name}",
        f"**{text.check.promise[0].upper()}{text.check.promise[1:]}.**",
        *text.meaning,
        *(f"*{word}*: {text.parts[word]}" for word in PARTS),
    ]
    return "\n\n".join(of_docstring(paragraph) for paragraph in paragraphs) + "\n"
