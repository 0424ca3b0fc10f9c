"""``tidegauge reconcile``: what a follower cuts off when it meets a leader, by release."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from tidegauge.replication.reconciliation import Reconciliation, ReplicaLog

#: One release of each generation of truncation (``replication/truncation.py``).
GENERATIONS = ("0.10.2", "1.1", "2.0.0", "2.6", "3.9")

#: Columns of the output where there is no terminal to ask.
WIDTH = 100

#: More records than this, or epochs of more than a digit, are not drawn one by one.
DRAWN_RECORDS = 60
DRAWN_EPOCHS = 10

COLOURS = ("cyan", "yellow", "green", "magenta", "blue", "red")

Runs = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Meeting:
    """Two logs that meet: (leader epoch, number of records) in order, and who leads."""

    leader: Runs
    follower: Runs
    #: The epoch in which the leader leads.
    leader_epoch: int
    #: The follower's own high watermark when it is told to follow.
    high_watermark: int
    #: An epoch in which the follower led last and wrote nothing.
    idle_epoch: int | None = None


def reconcile_logs(
    leader: Annotated[str, typer.Option(metavar="LOG", help="Log of the leader.")],
    follower: Annotated[str, typer.Option(metavar="LOG", help="Log of the follower.")],
    leader_epoch: Annotated[
        int | None,
        typer.Option(min=0, help="Epoch in which it leads; by default that of its last record."),
    ] = None,
    high_watermark: Annotated[
        int, typer.Option(min=0, help="High watermark of the follower when it starts to follow.")
    ] = 0,
    idle_epoch: Annotated[
        int | None,
        typer.Option(min=0, help="An epoch in which the follower led last and wrote nothing."),
    ] = None,
    release: Annotated[
        list[str] | None,
        typer.Option(help="Release to try (repeatable); by default one of each generation."),
    ] = None,
) -> None:
    """Show what a follower truncates when it starts to follow, release by release.

    A log is written EPOCH:RECORDS,EPOCH:RECORDS,... with the first record at offset 0: so
    0:3,2:1 is three records of leader epoch 0 and then one of epoch 2.

    \b
    Examples:
      tidegauge reconcile --leader 0:3,1:2 --follower 0:5
      tidegauge reconcile --leader 0:3,1:1 --follower 0:4 --high-watermark 4
      tidegauge reconcile --leader 0:3 --follower 0:3,1:2 --release 2.0.0 --release 2.0.1
    """
    from rich.console import Console

    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = WIDTH
    try:
        meeting = parse_meeting(leader, follower, leader_epoch, high_watermark, idle_epoch)
        show_meeting(console, meeting, tuple(release) if release else GENERATIONS)
    except ValueError as error:
        _fail(str(error))


def _fail(message: str) -> NoReturn:
    typer.echo(f"tidegauge: {message}", err=True)
    raise typer.Exit(2)


def parse_meeting(
    leader: str,
    follower: str,
    leader_epoch: int | None,
    high_watermark: int,
    idle_epoch: int | None,
) -> Meeting:
    """Read the options of the command.

    Raises:
        ValueError: one cannot be read or contradicts another; the message names it.
    """
    leader_runs, follower_runs = parse_log("--leader", leader), parse_log("--follower", follower)
    last_epoch = leader_runs[-1][0] if leader_runs else 0
    idle = -1 if idle_epoch is None else idle_epoch
    latest_epoch = max(last_epoch, idle, *(epoch for epoch, _ in follower_runs), 0)
    if leader_epoch is None:
        # An epoch has one leader: one that the follower led in, idly or not, is over.
        led_by_follower = latest_epoch > last_epoch or latest_epoch == idle
        leader_epoch = latest_epoch + 1 if led_by_follower else latest_epoch
    if leader_epoch < latest_epoch:
        raise ValueError(
            f"--leader-epoch {leader_epoch}: the logs have epochs up to {latest_epoch}"
        )
    if idle >= leader_epoch:
        raise ValueError(f"--idle-epoch {idle}: epoch {leader_epoch} has another leader")
    if high_watermark > sum(count for _, count in follower_runs):
        raise ValueError(f"--high-watermark {high_watermark}: the follower's log ends before it")
    return Meeting(leader_runs, follower_runs, leader_epoch, high_watermark, idle_epoch)


def parse_log(option: str, text: str) -> Runs:
    """Read ``0:3,2:1``; the epochs must not go down, as no real log's do.

    Raises:
        ValueError: it cannot be read; the message names the option and the part.
    """
    runs: list[tuple[int, int]] = []
    for part in filter(None, text.split(",")):
        match = re.fullmatch(r"(\d{1,9}):(\d{1,6})", part)
        if match is None or int(match[2]) == 0:
            raise ValueError(
                f"{option}: {part!r} is not EPOCH:RECORDS with at least one record, as in 0:3"
            )
        epoch, count = int(match[1]), int(match[2])
        if runs and epoch < runs[-1][0]:
            raise ValueError(f"{option}: epoch {epoch} comes after epoch {runs[-1][0]}")
        runs.append((epoch, count))
    return tuple(runs)


def show_meeting(console: Console, meeting: Meeting, releases: tuple[str, ...]) -> None:
    """Draw both logs, and for each release what the follower does and has then."""
    leader, follower, _ = play(meeting, releases[0], reconciled=False)
    drawn_leader, drawn_follower = _drawn(leader), _drawn(follower)
    width = max(len(drawn_leader), len(drawn_follower))
    console.print(_ruler(max(len(leader), len(follower))))
    leads = f"leads in epoch {meeting.leader_epoch}"
    console.print(_line("leader", drawn_leader, leads, width))
    note = f"high watermark {meeting.high_watermark}"
    if meeting.idle_epoch is not None:
        note += f", led in epoch {meeting.idle_epoch} without writing"
    console.print(_line("follower", drawn_follower, note, width))
    for release in releases:
        _show_outcome(console, meeting, release)


def play(
    meeting: Meeting, release: str, *, reconciled: bool = True
) -> tuple[list[int], list[int], Reconciliation | None]:
    """Epochs of the leader's and the follower's records, and what happened until then."""
    from tidegauge.replication.partition import enters_epoch_when_leading
    from tidegauge.replication.reconciliation import ReplicaLog, reconcile
    from tidegauge.replication.releases import rules_of

    rules = rules_of(release)
    leader = ReplicaLog.of(rules, meeting.leader)
    leader.assign_epoch(meeting.leader_epoch)
    follower = ReplicaLog.of(rules, meeting.follower)
    follower.partition.high_watermark = meeting.high_watermark
    if meeting.idle_epoch is not None and enters_epoch_when_leading(rules):
        follower.assign_epoch(meeting.idle_epoch)
    told = reconcile(leader, follower) if reconciled else None
    return _epochs(leader), _epochs(follower), told


def _epochs(log: ReplicaLog) -> list[int]:
    return [int(epoch) for epoch in log.epochs()]


def _show_outcome(console: Console, meeting: Meeting, release: str) -> None:
    from rich.text import Text

    from tidegauge.replication.release_versions import Release
    from tidegauge.replication.releases import rules_of
    from tidegauge.replication.truncation import GENERATION_NAMES

    _, after, told = play(meeting, release)
    assert told is not None
    generation = GENERATION_NAMES[int(rules_of(release).truncation_protocol)]
    console.print(Text(f"\n{Release.parse(release)}, {generation}", style="bold"))
    for step in told.story:
        console.print(f"  {step}")
    console.print(_line("follower", _drawn(after)))
    console.print(_verdict(told))


def _verdict(told: Reconciliation) -> Text:
    from rich.text import Text

    if told.stuck:
        return Text("  STUCK: it never fetches again", style="bold red")
    if told.first_difference != -1:
        where = f"offset {told.first_difference} holds different records"
        return Text(f"  DIVERGED for good: {where}", style="bold red")
    return Text("  equal to the leader's log", style="green")


def _ruler(length: int) -> Text:
    from rich.text import Text

    if length > DRAWN_RECORDS:
        return Text(f"{'':10}(each run: epoch x records)", style="dim")
    places = "".join(str(offset).ljust(5) for offset in range(0, length, 5))
    return Text(f"{'offset':10}{places}", style="dim")


def _drawn(epochs: list[int]) -> Text:
    """A character per record, its epoch; epochs of two digits and long logs as runs."""
    from rich.text import Text

    text = Text()
    if len(epochs) <= DRAWN_RECORDS and all(epoch < DRAWN_EPOCHS for epoch in epochs):
        for epoch in epochs:
            text.append(str(epoch), style=COLOURS[epoch % len(COLOURS)])
        return text
    for place, epoch in enumerate(epochs):
        if place == 0 or epochs[place - 1] != epoch:
            end = next((i for i in range(place, len(epochs)) if epochs[i] != epoch), len(epochs))
            text.append(f"{epoch}x{end - place} ", style=COLOURS[epoch % len(COLOURS)])
    return text


def _line(name: str, log: Text, note: str = "", width: int = 0) -> Text:
    from rich.text import Text

    line = Text(f"{name:10}").append_text(log)
    if note:
        line.append(" " * (width - len(log) + 3) + note, style="dim")
    return line
