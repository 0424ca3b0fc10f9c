"""The steps of a scenario: actions, one after the other, each when its condition is met.

``step.py`` says when a step is taken, and how to add a kind.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from pydantic import Discriminator

from tidegauge.scenario.model.operator_steps import OperatorStep
from tidegauge.scenario.model.parts import kinds_of, one_of
from tidegauge.scenario.model.request_steps import BrokerRequest
from tidegauge.scenario.model.step import StepOfAnyKind
from tidegauge.scenario.model.topic_steps import AdminStep, TopicStep

#: The kinds of steps, by the names that scenarios give them.
STEPS: Mapping[str, type[StepOfAnyKind]] = kinds_of(BrokerRequest | TopicStep | OperatorStep, "do")

#: The kinds of :class:`AdminStep`.
ADMIN_STEPS = frozenset(kind for kind, step in STEPS.items() if issubclass(step, AdminStep))

Step = Annotated[
    BrokerRequest | TopicStep | OperatorStep, Discriminator("do"), one_of("do", *STEPS)
]
