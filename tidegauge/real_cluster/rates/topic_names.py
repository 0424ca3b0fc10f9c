"""Topics of a place, which are matched with those of a dump.

Some exporters write an underscore for each dot or hyphen of a name.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping

_OTHERS = re.compile(r"[^a-zA-Z0-9]")


class TopicNames:
    """The topics of a dump, and by which other names they are known."""

    def __init__(self, topics: Collection[str]) -> None:
        """Know all topics of the dump."""
        self._topics = set(topics)
        self._by_mangled: dict[str, list[str]] = defaultdict(list)
        for topic in topics:
            self._by_mangled[_mangled(topic)].append(topic)
        #: Names that are not in the dump, or can be several of its topics.
        self.unknown: dict[str, None] = {}
        self.ambiguous: dict[str, list[str]] = {}
        #: The topics that were found by another name.
        self.mangled: dict[str, str] = {}

    def topic_of(self, name: str) -> str | None:
        """The topic of a name; None: there is none, or several."""
        if name in self._topics:
            return name
        candidates = self._by_mangled.get(name, [])
        if len(candidates) == 1:
            self.mangled[candidates[0]] = name
            return candidates[0]
        if candidates:
            self.ambiguous[name] = candidates
        else:
            self.unknown[name] = None
        return None

    def matched(self, values: Mapping[str, float]) -> dict[str, float]:
        """Values by topic of the dump."""
        found: dict[str, float] = defaultdict(float)
        for name, value in values.items():
            topic = self.topic_of(name)
            if topic is not None:
                found[topic] += value
        return dict(found)

    def twins(self, topics: Iterable[str]) -> list[tuple[str, str]]:
        """Topics that have values, each with one that has none and whose name may be mangled so."""
        there = set(topics)
        return [
            (topic, twin)
            for topic in sorted(there)
            for twin in self._by_mangled.get(topic, [])
            if twin not in there
        ]


def _mangled(topic: str) -> str:
    return _OTHERS.sub("_", topic)
