"""The voters of a quorum as one integer (Kafka: VoterSet; KIP-853).

A voter is a controller with one of its directories (Kafka: ReplicaKey): a controller whose disk is
replaced has a new directory, and is another voter. Four bits for each controller are the number of
its directory, counted from 1 on:

    bits 0-3: directory of controller 0, bits 4-7: that of controller 1, ...; 0: it is no voter

The voters of controller.quorum.voters have no directories: each has ``ANY_DIRECTORY``, which
matches all of them. Fifteen controllers fit; the integer is never negative.

Source: VoterSet, ReplicaKey@4.1.0.
"""

from collections.abc import Iterable

from tidegauge.compiled.rules import code, rule
from tidegauge.replication.records import MOST_VOTERS

NO_VOTERS = code(0)
#: A directory that is not named: that of each voter of controller.quorum.voters
#: (ReplicaKey.NO_DIRECTORY_ID).
ANY_DIRECTORY = code(15)
_BITS = 4
_MASK = 0b1111


@rule
def directory_of(voters: int, controller: int) -> int:
    """The number of a voter's directory; 0: the controller is no voter, with any directory.

    Source: VoterSet.VoterNode.voterKey@4.1.0.
    """
    return (voters >> (_BITS * controller)) & _MASK


@rule
def is_voter(voters: int, controller: int, directory: int) -> bool:
    """Whether a controller with this directory is a voter.

    Source: VoterSet.isVoter@4.1.0.
    """
    return is_key(directory_of(voters, controller), directory)


@rule
def is_key(named: int, directory: int) -> bool:
    """Whether the directory that a set or a request names is this one; 0 names none.

    Source: VoterSet.VoterNode.isVoter@4.1.0.
    """
    return named in (directory, ANY_DIRECTORY) and named != 0


@rule
def voter_count(voters: int) -> int:
    """The number of voters.

    Source: VoterSet.size@4.1.0.
    """
    count = 0
    while voters != 0:
        if voters & _MASK != 0:
            count += 1
        voters >>= _BITS
    return count


@rule
def with_voter(voters: int, controller: int, directory: int) -> int:
    """The set with a controller as a voter with this directory, and no other.

    The caller has made sure that no voter has this id.

    Source: VoterSet.addVoter@4.1.0.
    """
    return without_voter(voters, controller) | (directory << (_BITS * controller))


@rule
def without_voter(voters: int, controller: int) -> int:
    """The set without a controller.

    Source: VoterSet.removeVoter@4.1.0.
    """
    return voters & ~(_MASK << (_BITS * controller))


@rule
def has_overlapping_majority(voters: int, others: int) -> bool:
    """Whether each majority of one set shares a voter with each majority of the other.

    So it is if at most one voter of each is missing in the other.

    Source: VoterSet.hasOverlappingMajority@4.1.0.
    """
    only_here = 0
    only_there = 0
    while voters != 0 or others != 0:
        if voters & _MASK != others & _MASK:
            only_here += 1 if voters & _MASK != 0 else 0
            only_there += 1 if others & _MASK != 0 else 0
        voters >>= _BITS
        others >>= _BITS
    return only_here <= 1 and only_there <= 1


def pack(keys: Iterable[tuple[int, int]]) -> int:
    """The set of these voters: pairs of a controller's number and that of its directory.

    Raises:
        ValueError: a controller or a directory is out of range, or a controller comes twice.
    """
    voters = 0
    for controller, directory in keys:
        if not (0 <= controller < MOST_VOTERS and 1 <= directory <= ANY_DIRECTORY):
            raise ValueError(f"no voter: controller {controller}, directory {directory}")
        if directory_of(voters, controller) != 0:
            raise ValueError(f"controller {controller} is a voter twice")
        voters = int(with_voter(voters, controller, directory))
    return voters


def unpack(voters: int) -> list[tuple[int, int]]:
    """The voters of a set, by number: pairs of a controller's number and that of its directory."""
    found = []
    for controller in range(MOST_VOTERS):
        directory = int(directory_of(voters, controller))
        if directory != 0:
            found.append((controller, directory))
    return found
