"""In each epoch of a partition one broker leads at most.

All fencing by leader epochs rests on it: the controller raises the epoch with each leader that it
chooses. ZooKeeper refuses a state that was written over a version its writer did not know; a quorum
commits the records of one controller at a time.

Permitted: never.

Example: ``tidegauge run isolated-leader --set 'faults.cut.between=[[1],[zookeeper,4]]'`` keeps it.
Two brokers lead at the same time, but in two epochs, so replicas can distinguish them.

Source: KIP-101, "leader epoch"; PartitionStateMachine.doElectLeaderForPartitions@2.6.0.
"""

from tidegauge.compiled.rules import code, inner_rule
from tidegauge.simulation.kernel import NONE
from tidegauge.traces.checks.breaches import note_breach
from tidegauge.traces.checks.histories import NOTHING_PERMITS, Histories

#: Its place among the checks.
NUMBER = code(5)


@inner_rule
def check_only_leader(history: Histories, number: int) -> None:
    """A term begins: no other broker has led in its epoch."""
    term = history.terms[number]
    other = term.previous
    while other != NONE:
        before = history.terms[other]
        if before.epoch == term.epoch:
            # A term of its own was checked when it began; earlier ones need no second check.
            if before.began.process != term.began.process:
                note_breach(history, NUMBER, term.began, NOTHING_PERMITS)
            return
        other = before.previous
