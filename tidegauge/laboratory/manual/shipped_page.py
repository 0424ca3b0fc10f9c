"""The page ``docs/scenarios-shipped.md``: every shipped scenario, its question and its command."""

from __future__ import annotations

from collections.abc import Callable

from tidegauge.laboratory.manual.markdown import code_block
from tidegauge.scenario.reading import written_scenario
from tidegauge.scenario.shipped import FOLDER, ShippedScenario, described_scenarios
from tidegauge.scenario.text.errors import counted
from tidegauge.simulation.quantities import format_duration

_OPENING = """\
# Shipped scenarios

This page covers every scenario that is part of Tidegauge: its question or story, its size, its file
and its command. `tidegauge scenarios` prints the same list. [Questions](questions.md) has the
answers to the first ones, with figures. Copy a file to begin a scenario of your own;
[Scenarios](scenarios.md) explains how.
"""


#: A heading, a sentence, and which scenarios stand below it.
_GROUPS: tuple[tuple[str, str, Callable[[ShippedScenario], bool]], ...] = (
    (
        "Questions about a cluster",
        "Each of these is a question of operators.",
        lambda each: not (each.is_mechanism or each.is_in_gallery or each.is_incident),
    ),
    (
        "Mechanisms of replication",
        "Each of these shows one mechanism. The number is that of the mechanism.",
        lambda each: each.is_mechanism,
    ),
    (
        "Bugs of KRaft",
        (
            "`tidegauge gallery` runs each of these in an affected and in a fixed release; "
            "[Gallery](gallery.md) has the results."
        ),
        lambda each: each.is_in_gallery,
    ),
    (
        "Incidents",
        (
            "`tidegauge alerts` rehearses alert rules on these; [Metrics](metrics.md#alert-rules-"
            "rehearsed) explains how. Each also runs by its name."
        ),
        lambda each: each.is_incident,
    ),
)


def documentation() -> str:
    """The page, in Markdown."""
    described = described_scenarios()
    parts = [_OPENING]
    for title, sentence, belongs in _GROUPS:
        parts += [f"## {title}\n", f"{sentence}\n"]
        parts += [_section(each) for each in described if belongs(each)]
    return "\n".join(parts)


def _section(each: ShippedScenario) -> str:
    story = written_scenario(each.file).description.strip().split("\n\n")
    path = each.file.relative_to(FOLDER).as_posix()
    size = (
        f"{counted(each.brokers, 'broker')} of Kafka {each.kafka}, "
        f"{counted(each.partitions, 'partition')}, "
        f"{format_duration(round(each.virtual_seconds * 1e6))} of virtual time"
    )
    return "\n".join(
        [
            f"### {each.name}\n",
            *(f"{' '.join(paragraph.split())}\n" for paragraph in story),
            f"{size}: [{path}](../scenarios/{path})\n",
            code_block(f"tidegauge run {each.name}"),
        ]
    )
