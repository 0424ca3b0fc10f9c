"""The alerts that a scenario expects when rules are rehearsed on it (``tidegauge alerts``).

A run ignores these expectations. Alerts have the names that rule files give them. An alert that is
not named here may fire or stay silent.
"""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, WithJsonSchema, field_validator, model_validator

from tidegauge.scenario.model.duration_fields import Duration, PositiveDuration
from tidegauge.scenario.model.parts import Listed, Name, Part, without_repetition
from tidegauge.scenario.text.errors import Problem, ProblemsError

#: Instead of names: every alert that must not fire.
ALL = "all"

_SILENT_SCHEMA = {
    "anyOf": [{"const": ALL}, {"type": "array", "items": {"type": "string", "minLength": 1}}]
}


class AlertExpectations(Part):
    """The alerts that fire, how soon and until when, and the alerts that stay silent."""

    after_us: Duration | None = Field(
        default=None,
        alias="after",
        description="When the trouble begins; the delay of an alert is counted from here. "
        "Default: the first fault or step that has an `at`.",
    )
    repaired_us: Duration | None = Field(
        default=None,
        alias="repaired",
        description="When the trouble is over. Default: the end of the last fault that has `at` "
        "and `for`.",
    )
    fire: dict[Name, PositiveDuration] = Field(
        default_factory=dict,
        description="Alerts that fire, each with the longest time from the beginning of the "
        "trouble until it fires.",
    )
    clear: dict[Name, PositiveDuration] = Field(
        default_factory=dict,
        description="Alerts of `fire` that resolve, each with the longest time from the end of "
        "the trouble until it is resolved; it stays resolved until the run ends.",
    )
    silent: Annotated[Literal["all"] | Listed[Name], WithJsonSchema(_SILENT_SCHEMA)] = Field(
        default=(),
        description="Alerts that never fire; all: every alert that `fire` and `may_fire` do not "
        "name.",
    )
    may_fire: Annotated[Listed[Name], AfterValidator(without_repetition)] = Field(
        default=(), description="Alerts that `silent: all` excludes."
    )

    @field_validator("silent", mode="before")
    @classmethod
    def _is_all_or_names(cls, silent: object) -> object:
        if silent == ALL:
            return silent
        if not isinstance(silent, list | tuple) or not all(
            isinstance(name, str) for name in silent
        ):
            raise ValueError(f"must be {ALL}, or a list of alerts, not {silent!r}")
        return without_repetition(tuple(silent))

    @model_validator(mode="after")
    def _does_not_contradict_itself(self) -> Self:
        problems = [
            Problem(("clear", name), "is resolved at some time, so it must be in `fire`, too")
            for name in self.clear
            if name not in self.fire
        ]
        if self.silent != ALL:
            problems += [
                Problem(("silent", place), f"{name} is in `fire`, too")
                for place, name in enumerate(self.silent)
                if name in self.fire
            ]
        if self.may_fire and self.silent != ALL:
            problems.append(
                Problem(("may_fire",), "has a meaning only together with `silent: all`")
            )
        if problems:
            raise ProblemsError(problems)
        return self

    def named(self) -> list[str]:
        """The alerts that the expectations name, each once."""
        silent = () if self.silent == ALL else self.silent
        return list(dict.fromkeys([*self.fire, *silent, *self.may_fire]))

    def stays_silent(self, alert: str) -> bool:
        """Whether an alert of this name must not fire."""
        if self.silent == ALL:
            return alert not in self.fire and alert not in self.may_fire
        return alert in self.silent
