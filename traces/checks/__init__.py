"""Checks: the promises of Kafka's replication, judged from the rows of a run.

Rows come in one stream, in their total order (``engine/row_stream.py``), and go through
``traces/judging``: it keeps the history of each partition (``histories.py``, ``lineage.py``) and
calls each check for the rows that can break it. The code is compiled like the kernel, so a row
costs less than a microsecond.

A check is broken in a partition, by an event. A setting (unclean election, records that were not
flushed before a loss of power) or a release (KAFKA-14704) can give up the promise. Then the break
is *permitted*: it is reported together with the setting or release that permits it. The verdict is
false if a check was broken anywhere, true if it was not, and "unknown" if that cannot be decided.

**To add a check**: a file of its own here, or in ``traces/quorum_checks``, named as the check. Its
docstring begins with the promise, cites the source, and has paragraphs *Permitted*, *Example* and
*Source*, from which ``docs/checks.md`` is made. It has a ``NUMBER``, the next one, and notes each
breach with ``breaches.note_breach``; a check with ``ONLY_WITH_KRAFT`` is not judged with ZooKeeper,
one with ``ONLY_WITH_VOTER_CHANGES`` only where the voters of the quorum may change (KIP-853).
``traces/judging`` calls it for the row. A scenario in which it is broken stands in
``tests/tidegauge/test_checks.py``, of a quorum in ``tests/support/broken_quorums.py``.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

#: The folders of the checks: of partitions, and of a quorum.
CHECK_ROOMS = (Path(__file__).parent, Path(__file__).parents[1] / "quorum_checks")


class Check(NamedTuple):
    """Name and meaning of one check."""

    name: str
    #: The condition that must hold.
    promise: str
    #: It is only about KRaft clusters.
    only_with_kraft: bool = False
    #: ... whose voters may change.
    only_with_voter_changes: bool = False
    #: The room of its file.
    room: str = "checks"

    def is_about(self, *, has_kraft: bool, voters_may_change: bool) -> bool:
        """Whether it is judged in clusters of this kind."""
        if self.only_with_voter_changes:
            return voters_may_change
        return has_kraft or not self.only_with_kraft


def _declared() -> Iterator[tuple[int, Check]]:
    """The checks of both rooms: files with a ``NUMBER``, with the promises in their docstrings.

    The files are read and not imported: their rules need the compiler, and scenarios only names.
    """
    for file in (file for room in CHECK_ROOMS for file in room.glob("*.py")):
        source = file.read_text(encoding="utf-8")
        number = re.search(r"^NUMBER = code\((\d+)\)$", source, re.MULTILINE)
        if number is not None:
            promise, *_ = (ast.get_docstring(ast.parse(source)) or "").split(".\n")
            only_with = set(re.findall(r"^ONLY_WITH_(\w+) = True$", source, re.MULTILINE))
            promise = promise[:1].lower() + promise[1:]
            yield (
                int(number[1]),
                Check(
                    file.stem,
                    promise,
                    "KRAFT" in only_with,
                    "VOTER_CHANGES" in only_with,
                    file.parent.name,
                ),
            )


#: All checks that are judged from rows, by their numbers.
CHECKS: dict[int, Check] = dict(sorted(_declared()))
#: The check of the liveness phase (``engine/liveness.py``).
LIVENESS = Check(
    "liveness", "after all faults have ended, every ISR is full and all logs are equal"
)

#: The names that a scenario can use.
CHECK_NAMES = (*(check.name for check in CHECKS.values()), LIVENESS.name)
