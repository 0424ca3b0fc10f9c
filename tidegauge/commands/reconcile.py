"""``tidegauge reconcile`` and ``divergences``: the truncation of a follower that meets a leader."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple

from rich.console import Console
from rich.text import Text

from tidegauge.commands.rule_options import DivergencesOptions, ReconcileOptions
from tidegauge.compiled.errors import TidegaugeError
from tidegauge.replication.reconciliation import Reconciliation, ReplicaLog, reconcile
from tidegauge.replication.release_defaults import defaults_of
from tidegauge.replication.release_versions import Release
from tidegauge.replication.releases import rules_of
from tidegauge.replication.truncation import GENERATION_NAMES
from tidegauge.views.output import console

#: One release of each generation of truncation (``replication/truncation.py``).
GENERATIONS = ("0.10.2", "1.1", "2.0.0", "2.6", "3.9")

#: Logs with more records than this, or epochs of more than a digit, are drawn as runs.
DRAWN_RECORDS = 60
DRAWN_EPOCHS = 10

COLOURS = ("cyan", "yellow", "green", "magenta", "blue", "red")

UNCLEAN = "unclean.leader.election.enable"

Runs = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Meeting:
    """A leader's and a follower's log: (leader epoch, number of records), in order."""

    leader: Runs
    follower: Runs
    #: The epoch in which the leader leads.
    leader_epoch: int
    #: The follower's own high watermark when it becomes a follower.
    high_watermark: int
    #: An epoch in which the follower led last and wrote nothing.
    idle_epoch: int | None = None
    #: ``unclean.leader.election.enable``, None for the release's own default.
    unclean: bool | None = None


def reconcile_logs(options: ReconcileOptions) -> None:
    """Perform ``tidegauge reconcile``."""
    releases = tuple(options.release) if options.release else GENERATIONS
    try:
        meeting = parse_meeting(
            options.leader,
            options.follower,
            options.leader_epoch,
            options.high_watermark,
            options.idle_epoch,
            options.unclean,
        )
        for name in releases:
            rules_of(name)
    except ValueError as error:
        raise TidegaugeError(str(error)) from error
    show_meeting(console(), meeting, releases)


def parse_meeting(
    leader: str,
    follower: str,
    leader_epoch: int | None,
    high_watermark: int | None,
    idle_epoch: int | None,
    unclean: bool | None,
) -> Meeting:
    """Read the options of the command.

    Raises:
        ValueError: an option cannot be read or contradicts another; the message names it.
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
        raise TidegaugeError(
            f"--leader-epoch {leader_epoch}: is before the latest epoch, which is {latest_epoch}"
        )
    if idle >= leader_epoch:
        raise TidegaugeError(f"--idle-epoch {idle}: epoch {leader_epoch} has another leader")
    if high_watermark is None:
        high_watermark = equal_up_to(leader_runs, follower_runs)
    if high_watermark > sum(count for _, count in follower_runs):
        raise TidegaugeError(f"--high-watermark {high_watermark}: is after the follower's log end")
    return Meeting(leader_runs, follower_runs, leader_epoch, high_watermark, idle_epoch, unclean)


def parse_log(option: str, text: str) -> Runs:
    """Read ``0:3,2:1``; the epochs must not go down, as no real log's do.

    Raises:
        ValueError: the log cannot be read; the message names the option and the part.
    """
    runs: list[tuple[int, int]] = []
    for part in filter(None, text.split(",")):
        match = re.fullmatch(r"(\d{1,9}):(\d{1,6})", part)
        if match is None or int(match[2]) == 0:
            raise TidegaugeError(
                f"{option}: {part!r} is not EPOCH:RECORDS with at least one record, as in 0:3"
            )
        epoch, count = int(match[1]), int(match[2])
        if runs and epoch < runs[-1][0]:
            raise TidegaugeError(
                f"{option}: epoch {epoch} comes after epoch {runs[-1][0]}, epochs do not go down"
            )
        runs.append((epoch, count))
    return tuple(runs)


def equal_up_to(one: Runs, other: Runs) -> int:
    """The first offset at which two logs differ, or at which the shorter one ends."""
    offset = 0
    for (one_epoch, one_count), (other_epoch, other_count) in zip(one, other, strict=False):
        if one_epoch != other_epoch:
            return offset
        offset += min(one_count, other_count)
        if one_count != other_count:
            return offset
    return offset


def show_meeting(out: Console, meeting: Meeting, releases: tuple[str, ...]) -> None:
    """Draw both logs, and for each release the follower's steps and its log after them."""
    picture = MeetingPicture.of(meeting)
    out.print(picture.ruler())
    leads = f"leads in epoch {meeting.leader_epoch}"
    out.print(picture.line("leader", meeting.leader, leads))
    note = f"high watermark {meeting.high_watermark}"
    if meeting.idle_epoch is not None:
        note += f", led in epoch {meeting.idle_epoch} without writing"
    out.print(picture.line("follower", meeting.follower, note))
    for release in releases:
        _show_outcome(out, picture, meeting, release)


def logs_of(meeting: Meeting, release: str) -> tuple[ReplicaLog, ReplicaLog]:
    """The two logs as replicas of this release have them: leader and follower."""
    rules = rules_of(release)
    leader = ReplicaLog.of(rules, meeting.leader)
    leader.lead(meeting.leader_epoch)
    follower = ReplicaLog.of(rules, meeting.follower)
    follower.partition.high_watermark = meeting.high_watermark
    if meeting.idle_epoch is not None:
        follower.lead(meeting.idle_epoch)
    return leader, follower


def _show_outcome(out: Console, picture: MeetingPicture, meeting: Meeting, release: str) -> None:
    leader, follower = logs_of(meeting, release)
    unclean = defaults_of(release)[UNCLEAN] if meeting.unclean is None else meeting.unclean
    told = reconcile(leader, follower, unclean_election_enabled=bool(unclean))
    generation = GENERATION_NAMES[int(follower.rules.truncation_protocol)]
    out.print(Text(f"\n{Release.parse(release)}, {generation}", style="bold"))
    for step in told.story:
        out.print(f"  {step}")
    after = tuple((epoch, end - start) for epoch, start, end in follower.epoch_runs())
    out.print(picture.line("follower", after))
    out.print(_verdict(told))


def _verdict(told: Reconciliation) -> Text:
    if told.broker_stopped:
        return Text("  STOPPED: the follower's broker has exited", style="bold red")
    if told.stuck:
        return Text("  STUCK: it never fetches again", style="bold red")
    if told.first_difference != -1:
        where = f"offset {told.first_difference} holds different records"
        return Text(f"  DIVERGED for good: {where}", style="bold red")
    return Text("  equal to the leader's log", style="green")


@dataclass(frozen=True, slots=True)
class MeetingPicture:
    """The drawing of all logs of one meeting: either record by record, or as runs."""

    by_record: bool
    #: Columns of the longer log.
    width: int
    #: Records of the longer log.
    length: int

    @classmethod
    def of(cls, meeting: Meeting) -> MeetingPicture:
        """The finer drawing if both logs are short and their epochs have one digit."""
        logs = (meeting.leader, meeting.follower)
        length = max(sum(count for _, count in runs) for runs in logs)
        epochs = [epoch for runs in logs for epoch, _ in runs]
        by_record = length <= DRAWN_RECORDS and all(epoch < DRAWN_EPOCHS for epoch in epochs)
        drawing = cls(by_record, 0, length)
        return cls(by_record, max(len(drawing.drawn(runs)) for runs in logs), length)

    def ruler(self) -> Text:
        """The meaning of the characters below."""
        if not self.by_record:
            return Text(f"{'':10}a run of records is drawn as leader epoch x records", style="dim")
        places = "".join(str(offset).ljust(5) for offset in range(0, self.length, 5)).rstrip()
        return Text(
            f"{'':10}a record is drawn as the epoch of the leader that wrote it\n"
            f"{'offset':10}{places}",
            style="dim",
        )

    def drawn(self, runs: Runs) -> Text:
        """A log."""
        pieces = [
            Text(
                str(epoch) * count if self.by_record else f"{epoch}x{count}",
                style=COLOURS[epoch % len(COLOURS)],
            )
            for epoch, count in runs
        ]
        return Text("" if self.by_record else " ").join(pieces)

    def line(self, name: str, runs: Runs, note: str = "") -> Text:
        """A log with its name before it and a note after it."""
        log = self.drawn(runs)
        line = Text(f"{name:10}").append_text(log)
        if note:
            line.append(" " * (self.width - len(log) + 3) + note, style="dim")
        return line


class Story(NamedTuple):
    """Two logs, the events that led to them, and the releases to compare."""

    title: str
    told: str
    meeting: Meeting
    releases: tuple[str, ...]


def known_divergences(_options: DivergencesOptions) -> None:
    """Perform ``tidegauge divergences``."""
    out = console()
    for number, story in enumerate(_stories(), 1):
        out.rule(f"[bold]{number}. {story.title}", align="left")
        out.print(story.told + "\n")
        show_meeting(out, story.meeting, story.releases)
        out.print()
    out.print("Try your own logs:   tidegauge reconcile --help")
    out.print("Rules by release:    tidegauge releases")


def _stories() -> list[Story]:
    return [
        Story(
            "Two replicas lose power at once (KIP-101)",
            "Both had records 0 to 3 and a high watermark of 4. The first replica to return has\n"
            "lost record 3, leads, and writes another record there. Then the second one follows.",
            Meeting(((0, 3), (1, 1)), ((0, 4),), leader_epoch=1, high_watermark=4),
            ("0.10.2", "2.6"),
        ),
        Story(
            "Elections faster than replication (KIP-279)",
            "Three leaders in a row each wrote a record that the next one never fetched.",
            Meeting(((0, 1), (3, 1), (5, 1)), ((0, 1), (2, 1), (4, 1)), 5, high_watermark=0),
            ("1.1", "2.0.0", "3.9"),
        ),
        Story(
            "An epoch without records (KAFKA-10706)",
            "The follower led in epoch 3 for a moment and wrote nothing. It keeps the epoch at\n"
            "its log end, where truncation has nothing to cut, and asks for it again.",
            Meeting(((0, 2), (2, 1)), ((0, 2),), 4, high_watermark=0, idle_epoch=3),
            ("2.6.0", "2.6.1"),
        ),
    ]
