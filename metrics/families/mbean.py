"""Kafka's own name of a value: an MBean and one of its attributes."""

from __future__ import annotations

from typing import NamedTuple


class MBean(NamedTuple):
    """A value as JMX has it; a spelling (``metrics/spellings``) makes a series's name of it."""

    #: As JMX writes it. A key whose value is ``*`` is a label: each row of the scope has its own.
    object_name: str
    #: Of a Yammer gauge ``Value``, of a meter ``Count``; a group of Kafka's own metrics has an
    #: attribute for each.
    attribute: str = "Value"
    #: The value is a text: each row has it as a label, under the attribute's name.
    is_text: bool = False

    @property
    def domain(self) -> str:
        """The part before the colon, such as ``kafka.server``."""
        return self.object_name.partition(":")[0]

    @property
    def keys(self) -> dict[str, str]:
        """The keys of the name with their values, ``type`` first."""
        listed = self.object_name.partition(":")[2].split(",")
        return dict(key.split("=", 1) for key in listed)

    @property
    def row_labels(self) -> tuple[str, ...]:
        """The labels that each row has of its own."""
        own = tuple(key for key, value in self.keys.items() if value == "*")
        return (*own, self.attribute.replace("-", "_")) if self.is_text else own
