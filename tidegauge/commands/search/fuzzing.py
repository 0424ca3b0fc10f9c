"""``tidegauge fuzz``: random schedules on small clusters, and the smallest of those that break."""

import re
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import typer

from tidegauge.commands import loading
from tidegauge.commands.search.search_options import AblationsOptions, FuzzOptions
from tidegauge.commands.search.shrinking import perform_shrunk, write_shrunk
from tidegauge.compiled.errors import TidegaugeError
from tidegauge.replication.ablations import ABLATIONS, has_effect
from tidegauge.replication.kraft_releases import kraft_cells_of
from tidegauge.replication.release_versions import DEFAULT_RELEASE, KRAFT_MODE, Mode, Release
from tidegauge.scenario.text.errors import did_you_mean
from tidegauge.scenario.text.yaml_file import comment, lines_of
from tidegauge.search.campaign import MANY_RUNS, Campaign, Unit, UnitOutcome, performed, units_of
from tidegauge.search.failures import failure_of
from tidegauge.search.profiles import FuzzedKind
from tidegauge.search.shrinking import shrink_scenario
from tidegauge.traces.run_folder import new_run_folder
from tidegauge.views.fuzzing_view import (
    ToldCampaign,
    campaign_for_programs,
    progress_words,
    show_campaign,
)
from tidegauge.views.output import INTERRUPTED, console, print_json, report
from tidegauge.views.progress import check_jobs, working
from tidegauge.views.shrinking_view import ToldShrinking, show_shrunk, shrunk_for_programs

#: The most brokers of a fuzzed cluster; the least is 2.
_MOST_BROKERS = 5
_BROKERS = re.compile(r"([0-9])(?:\.\.([0-9]))?")


def fuzz_cluster(options: FuzzOptions) -> None:
    """Perform ``tidegauge fuzz``; exit with status 1 if a promise was broken."""
    check_jobs(options.jobs)
    kinds = _kinds(options)
    out = options.out or new_run_folder(f"fuzz-{kinds[0].release}")
    loading.check_new_folder(out)
    with report(as_json=options.as_json):
        loading.announce_compilation()
        told = _campaign(options, kinds)
        for each in told.campaign.smallest.values():
            # What is found is not lost if shrinking it fails.
            _write_scenario(
                out / f"{each.check}-as-found.yaml",
                f"{each.check} is broken here, as `tidegauge fuzz` found it.",
                each.scenario,
            )
        shrunk = [
            shrunk_finding(options, "fuzz", out, each.check, each.scenario)
            for each in told.campaign.smallest.values()
        ]
        permitted = [
            _write_permitted(out, words, scenario)
            for words, scenario in told.campaign.permitted_scenarios.items()
        ]
    if options.as_json:
        content = campaign_for_programs(told, permitted)
        print_json({**content, "findings": [shrunk_for_programs(each) for each in shrunk]})
    else:
        show_campaign(console(), told, permitted)
        for finding in shrunk:
            console().print()
            show_shrunk(console(), finding)
    if shrunk:
        raise typer.Exit(1)
    if told.was_interrupted:
        raise typer.Exit(INTERRUPTED)
    if not told.campaign.counted:
        raise TidegaugeError("no schedule has tested anything: try more, with --runs or --minutes")


def _kinds(options: FuzzOptions) -> list[FuzzedKind]:
    """The kinds of clusters that the options name."""
    release = options.release or DEFAULT_RELEASE
    try:
        modes = Release.parse(release).modes
    except ValueError as error:
        raise TidegaugeError(f"--release {release}: {error}") from error
    mode: Mode = KRAFT_MODE if options.voters and KRAFT_MODE in modes else modes[0]
    if options.mode is not None:
        if options.mode not in modes:
            raise TidegaugeError(f"--mode {options.mode}: {release} has {' and '.join(modes)}")
        mode = next(each for each in modes if each == options.mode)
    ablations = [name.strip() for name in (options.without or "").split(",") if name.strip()]
    for name in ablations:
        if name not in ABLATIONS:
            raise TidegaugeError(f"--without {name}: no such rule; {did_you_mean(name, ABLATIONS)}")
        if not has_effect(name, release, None, mode):
            loading.warn(f"--without {name}: changes nothing: {release} does not have the rule")
    if options.voters:
        _check_voters_change(release, mode)
        return [FuzzedKind(mode, release, 1, 1, ablations, changes_voters=True)]
    numbers = _brokers(options.brokers)
    return [
        FuzzedKind(mode, release, brokers, options.partitions, ablations, len(numbers))
        for brokers in numbers
    ]


def _check_voters_change(release: str, mode: Mode) -> None:
    """Raise an error if quorums of a release have the voters that they are configured with."""
    if mode != KRAFT_MODE:
        raise TidegaugeError(f"--voters: needs mode kraft, not {mode}")
    if kraft_cells_of(release)["newest_kraft_version"].value == 0:
        raise TidegaugeError(f"--voters: needs release 3.9 or newer, not {release} (KIP-853)")


def _brokers(text: str) -> range:
    numbers = _BROKERS.fullmatch(text)
    first, last = (0, 0) if numbers is None else (int(numbers[1]), int(numbers[2] or numbers[1]))
    if not 1 < first <= last <= _MOST_BROKERS:
        raise TidegaugeError(f"--brokers {text}: must be 2 to {_MOST_BROKERS}, or a range: 2..4")
    return range(first, last + 1)


def _campaign(options: FuzzOptions, kinds: Sequence[FuzzedKind]) -> ToldCampaign:
    """Try schedules for as long as the options say; Ctrl-C ends the search early."""
    seconds = None
    if options.minutes is not None or options.runs is None:
        seconds = 60 * (options.minutes or 1)
    units = units_of(kinds, options.seed, options.runs or MANY_RUNS, is_guided=not options.blind)
    campaign, began_s, was_interrupted = Campaign(), time.monotonic(), False
    told = partial(ToldCampaign, campaign, kinds, options.seed)
    with working("fuzzing") as tell, closing(_performed(options, units)) as outcomes:
        try:
            for outcome in outcomes:
                campaign.add(outcome, kinds[0].mode)
                took_s = time.monotonic() - began_s
                tell(progress_words(campaign, took_s))
                is_over = seconds is not None and took_s >= seconds
                if is_over or (options.first and campaign.smallest):
                    break
        except KeyboardInterrupt:
            was_interrupted = True
    return told(time.monotonic() - began_s, was_interrupted)


def _performed(options: FuzzOptions, units: Sequence[Unit]) -> Generator[UnitOutcome]:
    with closing(performed(units, options.jobs, options.address, loading.warn)) as outcomes:
        for _, outcome in outcomes:
            yield outcome


def shrunk_finding(
    options: FuzzOptions | AblationsOptions,
    command: str,
    out: Path,
    check: str,
    scenario: Mapping[str, Any],
) -> ToldShrinking:
    """The smallest scenario that breaks a check, with its run: in a folder, named as the check.

    Args:
        options: the options of the command that has found the scenario.
        command: the name of that command.
        out: the folder.
        check: the check.
        scenario: the scenario.
    """
    began_s = time.monotonic()
    with working(f"shrinking {check}"):
        shrunk = shrink_scenario(
            scenario, lambda run: failure_of(run, check, check), source=command
        )
    took_s = time.monotonic() - began_s
    file = out / f"{check}.yaml"
    write_shrunk(file, options, command, shrunk)
    run = perform_shrunk(shrunk, file, out / check, {})
    return ToldShrinking(shrunk, run, file, command, took_s)


def _write_permitted(out: Path, words: str, scenario: Mapping[str, Any]) -> tuple[str, Path]:
    """Write a scenario in which a break is permitted, for a reason in words."""
    # The issues of a release distinguish it from others.
    setting, _, issue = words.lower().partition("(")
    name = "-".join(re.findall(r"[a-z0-9]+", issue if setting == "the release " else setting))
    file = out / f"permitted-{name}.yaml"
    _write_scenario(file, f"A promise is broken here, and {words} permits it.", scenario)
    return words, file


def _write_scenario(file: Path, head: str, scenario: Mapping[str, Any]) -> None:
    written = {field: part for field, part in scenario.items() if field != "name"}
    loading.write_new_file(file, "\n".join([*comment(head), *lines_of(written)]) + "\n")
