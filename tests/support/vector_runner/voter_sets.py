"""Area ``voter_set``: the voters of a quorum as a set (Kafka: VoterSet)."""

from __future__ import annotations

from collections.abc import Iterable

from tidegauge.replication.voter_set import (
    ANY_DIRECTORY,
    directory_of,
    has_overlapping_majority,
    is_voter,
    pack,
    unpack,
    voter_count,
    with_voter,
    without_voter,
)
from vector_runner.area import Area, Fields, Json, area


def key_of(listed: Json) -> tuple[int, int]:
    """A controller and its directory; null is any."""
    controller, directory = listed
    return controller, int(ANY_DIRECTORY) if directory is None else directory


def set_of(listed: Iterable[Json]) -> int:
    """The set of these voters."""
    return pack(key_of(each) for each in listed)


def listed_voters(voters: int) -> Json:
    """The voters of a set as a vector lists them."""
    return [
        [controller, None if directory == ANY_DIRECTORY else directory]
        for controller, directory in unpack(int(voters))
    ]


@area("voter_set")
class VoterSet(Area):
    """One set, to which voters are added, and from which they are removed."""

    def __init__(self, given: Fields, tag: str) -> None:
        del tag
        self.voters = set_of(given.take("voters"))

    def op_add(self, step: Fields) -> None:
        self.voters = int(with_voter(self.voters, *key_of(step.take("voter"))))

    def op_remove(self, step: Fields) -> None:
        self.voters = int(without_voter(self.voters, step.take("controller")))

    def see_voters(self) -> Json:
        return listed_voters(self.voters)

    def see_count(self) -> int:
        return voter_count(self.voters)

    def see_directory_of(self, asked: Json) -> Json:
        return [{**each, "result": directory_of(self.voters, each["controller"])} for each in asked]

    def see_is_voter(self, asked: Json) -> Json:
        return [
            {**each, "result": bool(is_voter(self.voters, *key_of(each["voter"])))}
            for each in asked
        ]

    def see_is_only_voter(self, asked: Json) -> Json:
        is_alone = voter_count(self.voters) == 1
        return [
            {**each, "result": is_alone and each["result"]} for each in self.see_is_voter(asked)
        ]

    def see_overlaps(self, asked: Json) -> Json:
        """Whether both sets say so of each other."""
        found = []
        for each in asked:
            other = set_of(each["other"])
            result = bool(has_overlapping_majority(self.voters, other))
            back = bool(has_overlapping_majority(other, self.voters))
            found.append({**each, "result": result if result == back else None})
        return found
