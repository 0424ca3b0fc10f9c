"""How an invariant is declared, and the one rule that looks at all of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from tidegauge.compiled.handlers import plain_of
from tidegauge.compiled.rules import inner_rule, rule
from tidegauge.compiled.signatures import Tables

Function = TypeVar("Function", bound=Callable[..., Any])


class Invariant(NamedTuple):
    """What always holds of the records of one table."""

    #: The table that it returns a place of.
    table: str
    #: Returns the place of the first record that violates it, or -1.
    rule: Callable[..., Any]

    @property
    def name(self) -> str:
        """The name of its function."""
        return str(plain_of(self.rule).__name__)

    @property
    def sentence(self) -> str:
        """What holds, in Kafka's words."""
        return " ".join((plain_of(self.rule).__doc__ or "").split())


class Invariants(list[Invariant]):
    """The invariants of one subject, in the order in which they are looked at."""

    def of(self, table: str) -> Callable[[Function], Function]:
        """Enter a function that returns the place of a record in ``table`` that violates it."""

        def enter(function: Function) -> Function:
            entered = inner_rule(function)
            self.append(Invariant(table, entered))
            return entered

        return enter

    def validator(self, module: str, world: type[Tables], prepare: Any) -> Callable[..., Any]:
        """The rule ``validate(world)``: the number of the first invariant that is violated, or 0.

        Numbers count from 1. The place of the record is put into ``world.findings[0].place``.

        Args:
            module: the module that the rule is to be part of.
            world: the tables that it takes.
            prepare: an inner rule that is called before.
        """
        names: dict[str, Any] = {"__name__": module, "prepare": prepare}
        lines = ["def validate(world):", "    finding = world.findings[0]", "    prepare(world)"]
        for number, each in enumerate(self, 1):
            names[f"invariant_{number}"] = each.rule
            lines += [
                f"    finding.place = invariant_{number}(world)",
                "    if finding.place >= 0:",
                f"        return {number}",
            ]
        lines.append("    return 0")
        exec("\n".join(lines), names)  # noqa: S102 - code that this function has just written
        names["validate"].__doc__ = "The number of the first invariant that is violated, or 0."
        names["validate"].__annotations__ = {"world": world, "return": int}
        validate: Callable[..., Any] = rule(names["validate"])
        return validate
