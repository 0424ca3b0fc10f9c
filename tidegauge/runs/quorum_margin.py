"""How near a quorum was to its end: the failures that it could bear, and its time without a leader.

A leader needs the votes, and a commit the logs, of a majority of the voters. The *margin* is the
number of voters that run beyond that majority: 0 is one failure from stopping, less is no leader
and no commit. The voters are those of the newest log of a controller that runs, as an election
compares logs, whether their record is committed or not; each with its directory, so a controller
with a new disk is not the voter of before. A paused controller does not run; cuts do not count
here.

A quorum is *wedged* while its margin is below 0 although as many controllers run as the first
voters needed for a majority: processes look well, and only the voters are the wrong ones.

Source: VoterSet, LeaderState.updateHighWatermark@4.1.0 (KIP-853).
"""

from collections import Counter
from collections.abc import Mapping
from typing import Any, NamedTuple

from tidegauge.replication.voter_set import ANY_DIRECTORY, is_voter, pack, voter_count
from tidegauge.runs.quorum import (
    QUORUM_VOTERS,
    VOTER_LOG,
    VOTER_STATE,
    answered_changes,
    quorum_terms,
)
from tidegauge.runs.run import Run
from tidegauge.runs.trace_events import TraceEvent
from tidegauge.simulation.trace_rows import codes

_FAULTS = ("fault_began", "fault_ended")
#: The part of figures' names before the dot (``traces/figures.yaml``).
PREFIX = "quorum."


class Margin(NamedTuple):
    """The voters of a quorum, and how many failures they can bear."""

    #: Those in force, as ``replication/voter_set.py`` packs them.
    voters: int
    #: The voters that run beyond a majority; below 0: no leader can be elected.
    beyond: int
    #: It cannot go on, although enough controllers run for a majority of the first voters.
    is_wedged: bool


class MarginSpan(NamedTuple):
    """A time in which the margin stayed the same."""

    begin_us: int
    end_us: int
    margin: Margin

    @property
    def lasts_us(self) -> int:
        """Its duration."""
        return self.end_us - self.begin_us


def margin_spans(run: Run) -> list[MarginSpan]:
    """The margin of the quorum over a run, without gaps.

    Raises:
        TraceError: a trace file is damaged.
    """
    known = _RunningVoters(run)
    begin_us, margin = 0, known.margin()
    spans: list[MarginSpan] = []
    kinds = (VOTER_STATE, QUORUM_VOTERS, VOTER_LOG, *_FAULTS)
    for event in run.events_of(*kinds, until_us=run.end_us):
        known.take(event)
        if event.kind == VOTER_LOG:
            continue
        now = known.margin()
        if now != margin and event.time_us > begin_us:
            spans.append(MarginSpan(begin_us, event.time_us, margin))
            begin_us = event.time_us
        margin = now
    return [*spans, MarginSpan(begin_us, run.end_us, margin)]


class _RunningVoters:
    """The controllers that run, their directories, and the voters by the log of each."""

    def __init__(self, run: Run) -> None:
        processes = run.directory.processes_with_role("quorum controller")
        self._number_of = {process: number for number, process in enumerate(processes)}
        controllers = run.manifest["scenario"].get("controllers", {})
        first = controllers.get("voters") or range(len(processes))
        #: Before any row: those of controller.quorum.voters.
        self._voters = pack((number, ANY_DIRECTORY) for number in first)
        self._needed = len([*first]) // 2 + 1
        #: By controller: the last epoch and the end of its log; the newest record of voters in it,
        #: by its offset.
        self._ends: dict[int, tuple[int, int]] = {}
        self._records: dict[int, tuple[int, int]] = {}
        self._directories = dict.fromkeys(self._number_of.values(), 1)
        #: At first those that start later.
        self._stopped = {int(number) for number in controllers.get("start", {})}
        self._paused: dict[int, int] = dict.fromkeys(self._number_of.values(), 0)

    def take(self, event: TraceEvent) -> None:
        """Take the next row about a controller."""
        number = self._number_of.get(event.row["process"])
        if number is None:
            return
        if event.kind == VOTER_STATE:
            has_stopped = event.row["voter_state"] == codes.VOTER_STOPPED
            (self._stopped.add if has_stopped else self._stopped.discard)(number)
        elif event.kind == VOTER_LOG:
            self._ends[number] = event.row["quorum_epoch"], event.row["log_end_offset"]
        elif event.kind == QUORUM_VOTERS:
            self._records[number] = event.row["voters_offset"], event.row["voters"]
        elif event.fault_kind == "pause":
            self._paused[number] += 1 if event.kind == "fault_began" else -1
        elif event.fault_kind == "disk_loss" and event.kind == "fault_began":
            self._directories[number] += 1

    def _log_of(self, number: int) -> tuple[tuple[int, int], tuple[int, int]]:
        """A log, to be compared with others; of equal ones that with the newer voters."""
        return self._ends.get(number, (0, 0)), self._records[number]

    def margin(self) -> Margin:
        """The present one."""
        running = [
            number
            for number in self._number_of.values()
            if number not in self._stopped and not self._paused[number]
        ]
        # A new directory has no voters until the log is fetched.
        known = [number for number in running if self._records.get(number, (0, 0))[1]]
        if known:
            newest = max(known, key=self._log_of)
            self._voters = self._records[newest][1]
        voters = sum(
            is_voter(self._voters, number, self._directories[number]) for number in running
        )
        beyond = int(voters - (voter_count(self._voters) // 2 + 1))
        return Margin(self._voters, beyond, beyond < 0 and len(running) >= self._needed)


def _leaderless_us(run: Run) -> list[int]:
    """The durations in which no controller that runs led."""
    ends = [0]
    gaps = []
    for term in sorted(quorum_terms(run), key=lambda term: term.began_us):
        began_us = min(term.began_us, run.end_us)
        if began_us > max(ends):
            gaps.append(began_us - max(ends))
        ends.append(run.end_us if term.ended_us is None else term.ended_us)
    last_us = run.end_us - max(ends)
    return [*gaps, last_us] if last_us > 0 else gaps


def _commit_gap_us(run: Run) -> int:
    """The longest time in which the committed end of the metadata log stayed the same."""
    committed = longest_us = since_us = 0
    for event in run.events_of(VOTER_LOG, until_us=run.end_us):
        if event.row["high_watermark"] > committed:
            committed = event.row["high_watermark"]
            longest_us, since_us = max(longest_us, event.time_us - since_us), event.time_us
    return max(longest_us, run.end_us - since_us)


def _commit_waits_us(run: Run) -> list[int]:
    """How long each appended end of the metadata log waited for its commit, in order of size.

    An end that is never committed has no wait.
    """
    waiting: list[tuple[int, int]] = []
    waits = []
    end_offset = 0
    for event in run.events_of(VOTER_LOG, until_us=run.end_us):
        end, committed = event.row["log_end_offset"], event.row["high_watermark"]
        if event.row["truncated"]:
            waiting = [each for each in waiting if each[0] <= end]
            end_offset = min(end_offset, end)
        if end > end_offset:
            end_offset = end
            waiting.append((end, event.time_us))
        waits += [event.time_us - began_us for offset, began_us in waiting if offset <= committed]
        waiting = [each for each in waiting if each[0] > committed]
    return sorted(waits)


def quorum_figures(run: Run) -> Mapping[str, float]:
    """The figures of a run's quorum by their names in ``traces/figures.yaml``; none with ZooKeeper.

    Raises:
        TraceError: a trace file is damaged.
    """
    if not run.directory.controllers:
        return {}
    spans, gaps, answers = margin_spans(run), _leaderless_us(run), answered_changes(run)
    errors = Counter(each.error for each in answers if each.change in ("add", "remove"))
    # The leader is looked for: a controller that does not lead only says so.
    del errors["NOT_LEADER_OR_FOLLOWER"]
    seconds = {
        "no_margin_seconds": sum(each.lasts_us for each in spans if each.margin.beyond == 0),
        "stopped_seconds": sum(each.lasts_us for each in spans if each.margin.beyond < 0),
        "wedged_seconds": sum(each.lasts_us for each in spans if each.margin.is_wedged),
        "leaderless_seconds": sum(gaps),
        "leaderless_longest_seconds": max(gaps, default=0),
        "commit_gap_seconds": _commit_gap_us(run),
    }
    waits_us = _commit_waits_us(run)
    counts = {
        "commit_ms.p95": waits_us[len(waits_us) * 95 // 100] / 1e3 if waits_us else 0,
        "voters": int(voter_count(spans[-1].margin.voters)),
        "margin": spans[-1].margin.beyond,
        "changes": errors["NONE"],
        "changes_timed_out": errors["REQUEST_TIMED_OUT"],
        "changes_refused": errors.total() - errors["NONE"] - errors["REQUEST_TIMED_OUT"],
    }
    figures: dict[str, Any] = {name: us / 1e6 for name, us in seconds.items()} | counts
    return {f"{PREFIX}{name}": value for name, value in figures.items()}
