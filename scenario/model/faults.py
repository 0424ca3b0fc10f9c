"""The faults of a scenario: all kinds of them, and their names.

A fault hits processes, or the links between two groups of them, which are written as lists of
selectors (``selectors.py``). A fault without ``at`` waits for a step that begins it, and its
``for`` counts from then. ``fault.py`` says how to add a kind.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated

from pydantic import Discriminator

from tidegauge.scenario.model.component_faults import ComponentFault
from tidegauge.scenario.model.fault import FaultOfAnyKind
from tidegauge.scenario.model.parts import kinds_of, one_of
from tidegauge.scenario.model.process_faults import ProcessFault

#: The kinds of faults, by the names that scenarios give them.
FAULTS: Mapping[str, type[FaultOfAnyKind]] = kinds_of(ProcessFault | ComponentFault, "kind")

Fault = Annotated[ProcessFault | ComponentFault, Discriminator("kind"), one_of("kind", *FAULTS)]


def fault_name(faults: Sequence[Fault], place: int) -> str:
    """The name of a fault in output: its own, or its kind and its number among all faults."""
    fault = faults[place]
    return fault.name or f"{fault.kind}-{place + 1}"
