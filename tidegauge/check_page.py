"""The page ``docs/checks.md``: what each check promises, when a break is permitted, an example.

It is made from the docstrings of the checks, each in its own file:
``python -m tidegauge.check_page`` writes it, and a test compares it.
"""

from __future__ import annotations

import inspect
import re
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

from tidegauge.traces.checks import CHECKS, LIVENESS, Check

#: Paragraphs of a check's docstring that begin with one of these words have a place of their own.
PARTS = ("Permitted", "Example", "Source")

_OPENING = """\
# Checks

When a run is over, Tidegauge says of nine promises of Kafka's replication whether they held. Eight
are judged from the rows of the trace by compiled code, whatever the trace level; `liveness` is seen
after all faults have ended. `tidegauge run` prints a line for each, and `summary.json` has them
below `checks`.

| verdict | meaning |
|---|---|
| holds | no event broke it |
| BROKEN | an event broke it that nothing permits: the exit status is 1, and the story \
of the first event is printed |
| given up | every event that broke it is permitted, by a setting or by the release: the line \
names which, and the exit status is 0 |
| unknown | no verdict is possible: a partition without a leader, or no liveness phase |

A scenario that expects something else says so (`checks: {exposed_durable: false}`); then the exit
status is 1 if it is otherwise.

What permits a break:

* **an unclean election** (`unclean.leader.election.enable`): a leader is chosen from outside of the
  ISR, and what only others had is lost;
* **a loss of power before a flush** (`log.flush.interval.messages`): Kafka relies on replicas, not
  on the disk, so a broker that loses power may lose what it had acknowledged;
* **the release**: KAFKA-14704, from 2.8.0 to 3.4.0, which explains breaks of `committed_agree`
  alone.
"""
_CLOSING = """
This page is made from the docstrings of the checks: `python -m tidegauge.check_page` writes it.
"""


class CheckText(NamedTuple):
    """What the docstring of a check says, paragraph by paragraph."""

    check: Check
    meaning: list[str]
    #: The paragraphs of :data:`PARTS`, without that word.
    parts: dict[str, str]


def documentation() -> str:
    """The page, in Markdown."""
    sections = [_section(text) for text in check_texts()]
    return "\n".join([_OPENING, *sections]) + _CLOSING


def check_texts() -> list[CheckText]:
    """What is written of each check, in the order in which a run prints them."""
    modules = {check: f"tidegauge.traces.checks.{check.name}" for check in CHECKS.values()}
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
    return "\n\n".join(_markdown(paragraph) for paragraph in paragraphs) + "\n"


def _markdown(paragraph: str) -> str:
    """A paragraph of a docstring: code has two quotes there, and one here."""
    return re.sub(
        r"``(.+?)``", lambda code: f"`{' '.join(code[1].split())}`", paragraph, flags=re.DOTALL
    )


if __name__ == "__main__":
    Path(__file__).parents[1].joinpath("docs", "checks.md").write_text(
        documentation(), encoding="utf-8"
    )
