"""The output of ``tidegauge fuzz``: what was tried, what broke, and what was never reached."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console

from tidegauge.scenario.text.errors import counted
from tidegauge.search.campaign import Campaign
from tidegauge.search.profiles import FuzzedKind
from tidegauge.views.output import print_hanging


class ToldCampaign(NamedTuple):
    """A campaign that has ended."""

    campaign: Campaign
    kinds: Sequence[FuzzedKind]
    seed: int
    took_s: float
    was_interrupted: bool

    @property
    def runs_per_second(self) -> float:
        """Schedules that were run and judged, on all processors."""
        return self.campaign.runs / self.took_s if self.took_s > 0 else 0

    @property
    def gate(self) -> str:
        """What a schedule needs to count, in words."""
        if self.kinds[0].changes_voters:
            return "voters were committed"
        return "a record was acknowledged and a leader elected"

    @property
    def words(self) -> str:
        """The clusters in words."""
        first, last = self.kinds[0], self.kinds[-1]
        brokers = f"{first.brokers}" if first is last else f"{first.brokers} to {last.brokers}"
        brokers += f" brokers, {counted(first.partitions, 'partition')}"
        without = f" without {', '.join(first.ablations)}" if first.ablations else ""
        if first.changes_voters:
            return f"Kafka {first.release} with {first.mode}, changing voters{without}"
        return f"Kafka {first.release} with {first.mode}, {brokers}{without}"


def progress_words(campaign: Campaign, took_s: float) -> str:
    """The progress in a line."""
    found = f", {_found_words(campaign)}" if campaign.found else ""
    rate = campaign.runs / took_s if took_s > 0 else 0
    return f"fuzzing: {campaign.runs:,} schedules, {rate:,.0f} a second{found}"


def _found_words(campaign: Campaign) -> str:
    return ", ".join(
        f"{name} broken by {counted(times, 'schedule')}" for name, times in campaign.found.items()
    )


def show_campaign(out: Console, told: ToldCampaign, permitted: Sequence[tuple[str, Path]]) -> None:
    """Print the counts of a campaign, the breaks that are permitted, and what was not reached."""
    campaign = told.campaign
    print_hanging(
        out,
        "",
        f"{told.words}: {counted(campaign.runs, 'schedule')} in {told.took_s:.0f} s "
        f"({told.runs_per_second:,.0f} a second), on {counted(campaign.units, 'cluster')}, "
        f"seed {told.seed}" + (" (interrupted)" if told.was_interrupted else ""),
    )
    print_hanging(
        out,
        "Counted: ",
        f"{campaign.counted:,}, in which {told.gate}",
    )
    if campaign.overflows:
        print_hanging(out, "Not judged: ", f"{campaign.overflows:,}, which ran out of room")
    print_hanging(out, "Found: ", _found_words(campaign) or "nothing that is not permitted")
    if campaign.not_run_again:
        print_hanging(
            out,
            "",
            f"{campaign.not_run_again:,} more had not recovered, and were not run with a liveness "
            "phase",
        )
    for words, file in permitted:
        runs = campaign.permitted[words]
        print_hanging(out, "Permitted: ", f"{counted(runs, 'schedule')} by {words}; {file}")
    if campaign.lossy:
        print_hanging(
            out,
            "",
            f"{counted(campaign.lossy, 'schedule')} lost acknowledged records as is permitted",
        )
    rows, messages = len(campaign.never_written), len(campaign.never_sent)
    print_hanging(
        out, "Never reached: ", f"rows of {rows} kinds, messages of {messages}; --json lists them"
    )
    undrawn = [name for name, times in campaign.faults_drawn.items() if times == 0]
    if undrawn:
        print_hanging(out, "Faults that were never drawn: ", ", ".join(undrawn))


def campaign_for_programs(
    told: ToldCampaign, permitted: Sequence[tuple[str, Path]]
) -> dict[str, Any]:
    """The same for programs."""
    campaign = told.campaign
    return {
        "clusters": [kind._asdict() for kind in told.kinds],
        "seed": told.seed,
        "seconds": round(told.took_s, 1),
        "was_interrupted": told.was_interrupted,
        "units": campaign.units,
        "schedules": campaign.runs,
        "schedules_per_second": round(told.runs_per_second, 1),
        "counted": campaign.counted,
        "not_judged": campaign.overflows,
        "slow_recoveries": campaign.slow_recoveries,
        "not_run_again": campaign.not_run_again,
        "events": campaign.events,
        "rows_judged": campaign.rows,
        "shares_of_time": {
            part: round(ticks / max(1, campaign.ticks.total()), 3)
            for part, ticks in campaign.ticks.items()
        },
        "found": dict(campaign.found),
        "permitted": [
            {"reason": words, "schedules": campaign.permitted[words], "scenario": str(file)}
            for words, file in permitted
        ],
        "permitted_losses": campaign.lossy,
        "faults_drawn": dict(campaign.faults_drawn),
        "never_written": campaign.never_written,
        "never_sent": campaign.never_sent,
    }
