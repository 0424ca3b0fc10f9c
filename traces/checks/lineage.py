"""Logs as checks compare them: lists of epoch runs, and the terms that wrote them."""

from tidegauge.compiled.rules import code, inner_rule, rule
from tidegauge.replication.leader_epoch_cache import entry_for_offset
from tidegauge.simulation.kernel import NONE
from tidegauge.traces.checks.histories import Histories, LogRuns

#: A term's own run goes on until something ends the term.
_ENDLESS = code(2**62)
_START = code(0)


@rule
def run_reserve(history: Histories) -> int:
    """The most runs that one row can need: for a log, a term, the committed records."""
    return 6 * (history.facts[0].longest_log + 2)


@inner_rule
def agrees_until(history: Histories, one: LogRuns, other: LogRuns, end_offset: int) -> int:
    """The first offset below ``end_offset`` at which two logs differ; else ``end_offset``.

    Two records are the same if their leader epochs are. The ends of logs do not count: the last run
    of a log goes on. Retention deletes the oldest records of one log before those of another: only
    offsets above both log starts are compared.
    """
    one_runs = history.runs[one.first : one.first + one.count]
    other_runs = history.runs[other.first : other.first + other.count]
    offset = _START
    if one.count > 0 and other.count > 0:
        offset = max(one_runs[0].start_offset, other_runs[0].start_offset)
    while offset < end_offset:
        one_run = entry_for_offset(one_runs, one.count, offset)
        other_run = entry_for_offset(other_runs, other.count, offset)
        if one_run < 0 or other_run < 0:
            return offset if one_run != other_run else end_offset
        if one_runs[one_run].epoch != other_runs[other_run].epoch:
            return offset
        offset = _ENDLESS
        if one_run + 1 < one.count:
            offset = one_runs[one_run + 1].start_offset
        if other_run + 1 < other.count:
            offset = min(offset, other_runs[other_run + 1].start_offset)
    return end_offset


@inner_rule
def holds(history: Histories, log: LogRuns, other: LogRuns, end_offset: int) -> bool:
    """Whether a log holds all that another one holds below ``end_offset``."""
    return log.end_offset >= end_offset and (
        agrees_until(history, log, other, end_offset) >= end_offset
    )


@inner_rule
def count_held(history: Histories, log: LogRuns, epoch: int, first_offset: int, end: int) -> int:
    """The number of records of one epoch with these offsets that a log holds."""
    held = 0
    for place in range(log.count):
        run = history.runs[log.first + place]
        run_end = log.end_offset
        if place + 1 < log.count:
            run_end = history.runs[log.first + place + 1].start_offset
        if run.epoch == epoch:
            held += max(0, min(run_end, end) - max(run.start_offset, first_offset))
    return held


@inner_rule
def add_run(history: Histories, log: LogRuns, epoch: int, start_offset: int) -> None:
    """One more run at the end of the log that was begun last."""
    if log.count > 0 and history.runs[log.first + log.count - 1].epoch == epoch:
        return
    facts = history.facts[0]
    history.runs[facts.runs].epoch = epoch
    history.runs[facts.runs].start_offset = start_offset
    facts.runs += 1
    log.count += 1
    facts.longest_log = max(facts.longest_log, log.count)


@inner_rule
def term_of(history: Histories, partition: int, epoch: int) -> int:
    """The last term of a partition in an epoch; NONE if no leader of it is known."""
    term = history.partitions[partition].last_term
    while term != NONE and history.terms[term].epoch != epoch:
        term = history.terms[term].previous
    return term


@inner_rule
def term_led_by(history: Histories, partition: int, epoch: int, process: int) -> int:
    """The last term of a partition that a broker has led in an epoch; or NONE."""
    number = history.partitions[partition].last_term
    while number != NONE:
        term = history.terms[number]
        if term.epoch == epoch and term.began.process == process:
            return number
        number = term.previous
    return number


@inner_rule
def copy_log(to: LogRuns, log: LogRuns) -> None:
    """Let a log be the same runs."""
    to.first = log.first
    to.count = log.count
    to.end_offset = log.end_offset


@inner_rule
def move_behind_all(history: Histories, log: LogRuns) -> None:
    """Let the runs of a log be the last ones, so that one more can follow."""
    facts = history.facts[0]
    if facts.runs == log.first + log.count:
        return
    for place in range(log.count):
        run = history.runs[log.first + place]
        history.runs[facts.runs + place].epoch = run.epoch
        history.runs[facts.runs + place].start_offset = run.start_offset
    log.first = facts.runs
    facts.runs += log.count
