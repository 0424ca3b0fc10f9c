"""A scenario without a run: ``tidegauge validate`` predicts its size, ``lint`` finds its faults."""

import os
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

import typer

from tidegauge.commands.loading import loaded, show_warnings, warned_of
from tidegauge.commands.performing import hosted
from tidegauge.commands.run_options import RunOptions
from tidegauge.commands.scenario_options import LintOptions, ValidateOptions
from tidegauge.commands.scenarios import print_timetable
from tidegauge.compiled.compile_all import is_compiled
from tidegauge.engine.grouping import grouping_of, usual_groups
from tidegauge.engine.prediction import Prediction, predict
from tidegauge.scenario.cluster_plan import ClusterPlan
from tidegauge.scenario.lint.finding import Finding
from tidegauge.scenario.lint.lint import CHECKS, findings_of
from tidegauge.scenario.model.workload import ClientGroup
from tidegauge.scenario.text.errors import counted, duration_text
from tidegauge.scenario.timetable import timetable
from tidegauge.scenario.used_resources import LeanedOn, UsedResource, leaned_on, used_resources
from tidegauge.simulation.quantities import format_duration
from tidegauge.views.output import console, print_hanging, print_json

#: The number of topics and settings that are listed.
_LISTED = 40
#: The number of topics of a group of clients that are named.
_NAMED = 8
#: From here on minutes are easier to read.
_TOO_MANY_SECONDS = 180
#: Below that tenths matter.
_FEW_SECONDS = 10
_GIBIBYTE = 2**30


def validate_scenario(options: ValidateOptions) -> None:
    """Perform ``tidegauge validate``."""
    request = RunOptions(
        options.scenario,
        inline=options.inline,
        ray=options.ray,
        actors=options.actors,
        changes=options.changes,
        costs=options.costs,
        seed=options.seed,
    )
    request.check()
    plan = ClusterPlan(loaded(request))
    hosting = hosted(request.hosting, plan)
    groups = [] if hosting.inline else _groups(plan, hosting.actors)
    prediction = predict(plan)
    show_warnings(plan.scenario)
    if options.as_json:
        print_json(_as_json(plan, prediction, groups))
    else:
        _print(plan, prediction, groups, verbose=options.verbose)
        show_findings(findings_of(plan.scenario), shlex.quote(options.scenario))


def _groups(plan: ClusterPlan, actors: int | None) -> list[str]:
    """The groups that actors would host; by default as many as in a run on this machine."""
    return grouping_of(plan, actors or usual_groups(plan, os.cpu_count() or 1)).names


def _print(plan: ClusterPlan, prediction: Prediction, groups: list[str], *, verbose: bool) -> None:
    """Print the size and the cost of a run, then its timetable, and if asked what it depends on."""
    for name, words in _size(plan).items():
        _entry(name, words)
    _entry("run", _cost_words(prediction))
    for group in _clients(plan) if verbose else _clients_in_short(plan):
        _entry("clients", group)
    for topic in _topics(plan) if verbose else ():
        _entry("topic", topic)
    if groups:
        _entry("actors", f"{len(groups)}: {'; '.join(groups)}")
    costs, resources = leaned_on(plan.scenario), used_resources(plan.scenario)
    settings = plan.scenario.settings_not_modelled()
    if not verbose:
        _entry("depends", _dependence(costs, resources, settings))
    print_timetable(plan.scenario)
    if verbose:
        _print_prediction(prediction)
        _print_settings(settings)
        _print_costs(costs)
        _print_resources(resources)


def _entry(name: str, words: str) -> None:
    print_hanging(console(), f"{name:<10}", words)


def _cost_words(prediction: Prediction) -> str:
    once = "" if is_compiled() else ", and once the compilation of the rules: tidegauge compile"
    return (
        f"some {_time_words(prediction.seconds)} and {_memory_words(prediction.memory_bytes)} "
        f"inline, mostly within a factor of 1.5{once}"
    )


def _dependence(
    costs: Sequence[LeanedOn], resources: Sequence[UsedResource], settings: Sequence[str]
) -> str:
    """The number of costs, resources and settings that ``--verbose`` lists."""
    defaults = sum(each.is_default for each in costs) + sum(each.is_default for each in resources)
    without = f"; {counted(len(settings), 'setting')} without effect" if settings else ""
    return (
        f"on {counted(len(costs), 'cost')} and {counted(len(resources), 'resource')}, {defaults} "
        f"of them defaults, not measured on your brokers{without}: --verbose lists them"
    )


def _size(plan: ClusterPlan) -> dict[str, str]:
    """The scenario in a few lines."""
    scenario = plan.scenario
    replicas = len(plan.partitions.columns.replicas)
    racks = {name: len(brokers) for name, brokers in scenario.cluster.racks.items()}
    placed = ", ".join(f"{count} in rack {name}" for name, count in racks.items())
    releases = sorted({scenario.release_of(broker).release for broker in plan.brokers})
    return {
        "scenario": f"{scenario.name}, seed {scenario.seed}: can be run",
        "lasts": f"{format_duration(scenario.duration_us)} of virtual time"
        + (", then until the cluster has recovered" if scenario.liveness else ""),
        "cluster": f"{counted(len(plan.brokers), 'broker')} of Kafka {', '.join(releases)}: "
        f"{placed}",
        **(_controllers(plan) if plan.is_kraft else {}),
        "holds": f"{counted(len(scenario.topics), 'topic')}, "
        f"{counted(len(plan.partitions), 'partition')}, {counted(replicas, 'replica')}",
    }


def _controllers(plan: ClusterPlan) -> dict[str, str]:
    elr = "with" if plan.scenario.has_eligible_leader_replicas() else "without"
    controllers = counted(len(plan.controllers), "controller")
    voters = plan.scenario.controllers.voters
    change = f", {len(voters)} of them voters at first" if voters else ""
    return {"quorum": f"{controllers} (KRaft){change}, {elr} eligible leader replicas"}


def _topics(plan: ClusterPlan) -> list[str]:
    """A line for each of the first topics."""
    lines = []
    for topic in plan.scenario.topics[:_LISTED]:
        first = plan.partitions[plan.partition_number(topic.name, 0)]
        lines.append(
            f"{topic.name}: {counted(topic.partition_count, 'partition')} of "
            f"{counted(len(first.replicas), 'replica')}, min.insync.replicas "
            f"{first.min_insync_replicas}"
        )
    left = len(plan.scenario.topics) - _LISTED
    return [*lines, f"... and {left} more"] if left > 0 else lines


def _clients(plan: ClusterPlan) -> list[str]:
    """A line for each group of clients."""
    scenario = plan.scenario
    lines = []
    for producers in scenario.workload.producers:
        acks = scenario.producer_settings(producers)["acks"]
        lines.append(
            f"{producers.name}: {counted(producers.clients, 'producer')}, "
            f"{producers.batches_per_second:,.6g} batches/s of "
            f"{counted(producers.records_per_batch * producers.record_bytes, 'byte')} to "
            f"{_named(producers.topics)}, acks={'all' if acks < 0 else acks}"
            f"{_never(plan, producers)}"
        )
    for consumers in scenario.workload.consumers:
        commits = ", commits" if plan.commits(consumers) else ""
        lines.append(
            f"{consumers.name}: {counted(consumers.clients, 'consumer')} of "
            f"{_named(consumers.topics)}{commits}{_never(plan, consumers)}"
        )
    return lines


def _clients_in_short(plan: ClusterPlan) -> list[str]:
    """The number of clients in one line, and each group that would never begin."""
    workload = plan.scenario.workload
    rate = sum(producers.batches_per_second for producers in workload.producers)
    line = (
        f"{counted(sum(group.clients for group in workload.producers), 'producer')} with "
        f"{rate:,.6g} batches/s, "
        f"{counted(sum(group.clients for group in workload.consumers), 'consumer')}"
    )
    groups = (*workload.producers, *workload.consumers)
    late = [f"{group.name}{_never(plan, group)}" for group in groups if _never(plan, group)]
    return [line, *late]


def _named(topics: Sequence[str]) -> str:
    """The names of topics, of many only the first ones."""
    named, left = topics[:_NAMED], len(topics) - _NAMED
    return ", ".join(named) + (f" and {counted(left, 'more topic')}" if left > 0 else "")


def _never(plan: ClusterPlan, group: ClientGroup) -> str:
    """A warning for clients that would begin after the end of the run."""
    return "; NEVER BEGINS: too short a run" if group.start_us >= plan.scenario.duration_us else ""


def _print_prediction(prediction: Prediction) -> None:
    events = prediction.events
    parts = ", ".join(
        f"{_rounded(count)} {name}"
        for name, count in sorted(events._asdict().items(), key=lambda part: -part[1])
        if count >= 1
    )
    typer.echo("\nParts of the prediction:")
    print_hanging(console(), "  events  ", f"{_rounded(events.total)} ({parts})")
    parts_s = prediction.set_up_s, prediction.loop_s, prediction.end_s
    spans = zip(("set-up", "loop", "end"), parts_s, strict=True)
    each = ", ".join(f"{name} {_time_words(seconds)}" for name, seconds in spans)
    typer.echo(f"  time    {_time_words(prediction.seconds)} ({each})")


def _print_settings(settings: Sequence[str]) -> None:
    if not settings:
        return
    typer.echo("\nSettings that are not modelled, and have no effect:")
    for setting in settings[:_LISTED]:
        typer.echo(f"  {setting}")
    if len(settings) > _LISTED:
        typer.echo(f"  ... and {len(settings) - _LISTED} more")


def _rounded(count: float) -> str:
    """A number rounded to two digits."""
    digits = max(0, len(str(round(count))) - 2)
    return f"{round(count, -digits):,.0f}"


def _time_words(seconds: float) -> str:
    if seconds >= _TOO_MANY_SECONDS:
        return f"{seconds / 60:.0f} min"
    return f"{seconds:.1f} s" if seconds < _FEW_SECONDS else f"{seconds:.0f} s"


def _memory_words(memory_bytes: float) -> str:
    if memory_bytes >= _GIBIBYTE:
        return f"{memory_bytes / _GIBIBYTE:.1f} GiB"
    return f"{memory_bytes / 2**20:.0f} MiB"


def _print_costs(parameters: list[LeanedOn]) -> None:
    typer.echo("\nThe result depends on these costs in time (medians; * is a default,")
    typer.echo("not measured on your brokers):")
    for occasion in dict.fromkeys(parameter.occasion for parameter in parameters):
        typer.echo(f"  {occasion}:")
        for name, _, median_us, is_default in (
            parameter for parameter in parameters if parameter.occasion == occasion
        ):
            typer.echo(f"    {'*' if is_default else ' '} {name:<38}{duration_text(median_us):>12}")


def _print_resources(resources: list[UsedResource]) -> None:
    if not resources:
        return
    typer.echo(
        "\nThe result depends on these resources (* is a default, not that of your machines):"
    )
    for occasion in dict.fromkeys(resource.occasion for resource in resources):
        typer.echo(f"  {occasion}:")
        for name, _, value, is_default in (each for each in resources if each.occasion == occasion):
            typer.echo(f"    {'*' if is_default else ' '} {name:<38}{value:>12}")


def _as_json(plan: ClusterPlan, prediction: Prediction, groups: list[str]) -> dict[str, Any]:
    """The prediction for programs; names end in their unit."""
    scenario = plan.scenario
    return {
        "name": scenario.name,
        "seed": scenario.seed,
        "duration_us": scenario.duration_us,
        "brokers": len(plan.brokers),
        "racks": {name: len(brokers) for name, brokers in scenario.cluster.racks.items()},
        "topics": len(scenario.topics),
        "partitions": len(plan.partitions),
        "replicas": len(plan.partitions.columns.replicas),
        "clients": len(plan.clients) - 1,
        "actors": groups,
        "timetable": [planned._asdict() for planned in timetable(scenario)],
        "expected_events": {
            "total": round(prediction.events.total),
            **{name: round(count) for name, count in prediction.events._asdict().items()},
        },
        "expected_seconds": round(prediction.seconds, 1),
        "expected_set_up_seconds": round(prediction.set_up_s, 1),
        "expected_loop_seconds": round(prediction.loop_s, 1),
        "expected_end_seconds": round(prediction.end_s, 1),
        "expected_memory_bytes": prediction.memory_bytes,
        "warnings": warned_of(scenario),
        "settings_not_modelled": scenario.settings_not_modelled(),
        "leans_on": [parameter._asdict() for parameter in leaned_on(scenario)],
        "resources": [resource._asdict() for resource in used_resources(scenario)],
    }


# Findings.


def lint_scenario(options: LintOptions) -> None:
    """Perform ``tidegauge lint``."""
    scenario = loaded(RunOptions(options.scenario, changes=options.changes))
    found, changes = findings_of(scenario), options.changes or []
    if options.as_json:
        findings = [
            {"check": name, **finding.as_json(options.scenario, changes)}
            for name, finding in found.items()
        ]
        print_json({"name": scenario.name, "checks": [*CHECKS], "findings": findings})
    else:
        _print_findings(found, options.scenario, changes)
    if options.strict and found:
        raise typer.Exit(1)


def _print_findings(found: Mapping[str, Finding], file: str, changes: Sequence[str]) -> None:
    for name, finding in found.items():
        print_hanging(console(), "", f"{name}: {finding.concerned}")
        print_hanging(console(), "  risk    ", finding.risk)
        print_hanging(console(), "  remedy  ", finding.remedy)
        typer.echo(f"  try     {finding.simulation.text(file, changes)}\n")
    typer.echo(f"{counted(len(found), 'finding')} of {counted(len(CHECKS), 'check')}")


def show_findings(found: Mapping[str, Finding], file: str) -> None:
    """Print a line for each finding, below the output of another command.

    Args:
        found: the findings, by their checks.
        file: the scenario, as the command that explains them is typed.
    """
    if not found:
        return
    number = counted(len(found), "finding")
    typer.echo()
    print_hanging(console(), "", f"{number}, which `tidegauge lint {file}` explains:")
    for name, finding in found.items():
        print_hanging(console(), "  ", f"{name}: {finding.concerned}")
