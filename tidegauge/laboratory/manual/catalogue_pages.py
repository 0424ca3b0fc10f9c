"""The pages of shipped files: checks of runs and of clusters, gallery and scenarios.

``docs/ablations.md`` has the rules of the protocol that a run can do without. ``docs/checks.md``
has each check's promise, the permitted breaks and an example, from docstrings of the checks;
``docs/lint.md`` has those of ``tidegauge lint``. ``docs/gallery.md`` has known bugs of KRaft and
anomalies of replication, with the figures of both releases. ``docs/scenarios-shipped.md`` has every
shipped scenario, its question and its command.
"""

import inspect
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from importlib import import_module
from typing import NamedTuple

from tidegauge.laboratory.gallery.comparison import Compared, Observed, command_of, compared
from tidegauge.laboratory.gallery.incidents import INCIDENTS, Incident, Version
from tidegauge.laboratory.manual.markdown import (
    anchor,
    code,
    code_block,
    of_docstring,
    prose,
    table,
)
from tidegauge.replication.ablations import ABLATIONS, SEEDED_BUGS
from tidegauge.replication.release_versions import MODE_NAMES
from tidegauge.scenario.lint.lint import CHECKS as LINT_CHECKS
from tidegauge.scenario.reading import written_scenario
from tidegauge.scenario.shipped import FOLDER, ShippedScenario, described_scenarios
from tidegauge.scenario.text.errors import counted
from tidegauge.simulation.quantities import format_duration
from tidegauge.traces.checks import CHECKS, LIVENESS, Check

#: Paragraphs of a check's docstring that begin with one of these words have their own place.
PARTS = ("Permitted", "Example", "Source")


class CheckText(NamedTuple):
    """The paragraphs in the docstring of a check."""

    check: Check
    meaning: list[str]
    #: The paragraphs of :data:`PARTS`, without that word.
    parts: dict[str, str]


def ablations_page() -> str:
    """The page, in Markdown."""
    head = ("ablation", "the rule that is missing", "release", "breaks", "in the model")
    rows = (
        (
            code(name),
            each.meaning,
            f"{each.release} with {MODE_NAMES[each.mode]}",
            ", ".join(each.breaks) or "nothing",
            each.model or "",
        )
        for name, each in ABLATIONS.items()
    )
    bugs = ", ".join(map(code, SEEDED_BUGS))
    return f"{prose('ablations.md')}\n{table(head, rows)}\n## Seeded bugs\n\n{_BUGS}\n\n{bugs}.\n"


_BUGS = "Ten ablations that a search for faults has to find, from easy to deep:"


def checks_page() -> str:
    """The page, in Markdown."""
    sections = [_check_section(text) for text in check_texts()]
    return "\n".join([prose("checks.md"), *sections])


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


def _check_section(text: CheckText) -> str:
    paragraphs = [
        f"## {text.check.name}",
        f"**{text.check.promise[0].upper()}{text.check.promise[1:]}.**",
        *text.meaning,
        *(f"*{word}*: {text.parts[word]}" for word in PARTS),
    ]
    return "\n\n".join(of_docstring(paragraph) for paragraph in paragraphs) + "\n"


def lint_page() -> str:
    """The page, in Markdown."""
    sections = [
        "\n\n".join([f"## {name}", *map(of_docstring, check.paragraphs)]) + "\n"
        for name, check in LINT_CHECKS.items()
    ]
    return "\n".join([prose("lint.md"), *sections])


def gallery_page() -> str:
    """The page, in Markdown; all incidents are run for it."""
    parts = [prose("gallery.md")]
    for title, of_replication in _PARTS_OF_GALLERY.items():
        results = [
            each for each in gallery_results() if each.incident.is_of_replication == of_replication
        ]
        parts += [f"## {title}\n", _overview(results), *map(_incident_section, results)]
    return "\n".join(parts)


#: The headings, and whether the incidents below are anomalies of replication.
_PARTS_OF_GALLERY = {"Bugs of KRaft": False, "Anomalies of replication": True}


@cache
def gallery_results() -> Sequence[Compared]:
    """All incidents, run once in both of their releases."""
    return [compared(each) for each in INCIDENTS]


def _overview(results: Sequence[Compared]) -> str:
    head = ("", "incident", "issue", "affected", "fixed", "figure", "with it", "without")
    return table(head, (row for each in results for row in _overview_rows(each)))


def _overview_rows(each: Compared) -> Iterator[Sequence[str]]:
    incident = each.incident
    title = f"[{incident.title}](#{anchor(_heading(incident))})"
    first = (str(incident.number), title, ", ".join(incident.issues))
    about = (*first, incident.affected, incident.fixed)
    for shown, absent in zip(each.affected, each.fixed, strict=True):
        yield (
            *about,
            shown.label,
            _value(incident.shown_in, shown),
            _value(incident.absent_in, absent),
        )
        about = ("", "", "", "", "")


def _value(version: Version, observed: Observed) -> str:
    return f"{observed.text} in {version}"


def _heading(incident: Incident) -> str:
    return f"{incident.number} {incident.name}"


def _incident_section(each: Compared) -> str:
    incident = each.incident
    versions = (incident.shown_in, incident.absent_in)
    head = ("figure", *(f"{kind} {version}" for version in versions for kind in _KINDS))
    rows = (
        (
            shown.label,
            *(text for one in (shown, absent) for text in (one.expected_text, _observed(one))),
        )
        for shown, absent in zip(each.affected, each.fixed, strict=True)
    )
    name = incident.scenario
    story = f"[{name}](scenarios-shipped.md#{anchor(name)})"
    return "\n".join(
        [
            f"### {_heading(incident)}\n",
            (
                f"{incident.title}: {', '.join(incident.issues)}. Affected: {incident.affected}. "
                f"Fixed: {incident.fixed}.\n"
            ),
            *_background(incident),
            f"Schedule: {incident.schedule}. The scenario is {story}.\n",
            table(head, rows),
            code_block("\n".join(command_of(incident, version) for version in versions)),
        ]
    )


def _background(incident: Incident) -> Iterator[str]:
    if incident.mechanism:
        yield f"{incident.mechanism.strip()}\n"
    if incident.evidence:
        yield f"Evidence: {incident.evidence}.\n"


#: The prefixes of the two columns of a version.
_KINDS = ("expected in", "observed in")


def _observed(observed: Observed) -> str:
    return observed.text if observed.is_as_expected else f"**{observed.text}**"


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
        "Bugs of KRaft, and anomalies of replication",
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


def scenarios_page() -> str:
    """The page, in Markdown."""
    described = described_scenarios()
    parts = [prose("scenarios-shipped.md")]
    for title, sentence, belongs in _GROUPS:
        parts += [f"## {title}\n", f"{sentence}\n"]
        parts += [_scenario_section(each) for each in described if belongs(each)]
    return "\n".join(parts)


def _scenario_section(each: ShippedScenario) -> str:
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
