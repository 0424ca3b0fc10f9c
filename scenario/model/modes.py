"""The parts and costs of a scenario that have a meaning in one mode only."""

from __future__ import annotations

from tidegauge.replication.release_versions import KRAFT_MODE, ZOOKEEPER_MODE, Mode

_PARTS: dict[str, Mode] = {"zookeeper": ZOOKEEPER_MODE, "controllers": KRAFT_MODE}
_COSTS: dict[Mode, tuple[str, ...]] = {
    ZOOKEEPER_MODE: (
        *("zookeeper_read", "zookeeper_write", "zookeeper_pipelined_write"),
        *("controller_event", "controller_partition", "controller_election"),
        *("controller_failover_partition", "become_leader", "become_follower", "broker_ready"),
    ),
    KRAFT_MODE: (
        *("metadata_record", "metadata_append", "metadata_fsync", "metadata_commit"),
        *("metadata_publication", "metadata_publication_partition", "metadata_first_publication"),
        *("broker_registration", "broker_stop_request"),
    ),
}


def parts_of_other_modes(mode: Mode) -> list[str]:
    """The parts of a scenario that have no meaning in this mode."""
    return [part for part, own in _PARTS.items() if own != mode]


def costs_of_other_modes(mode: Mode) -> list[str]:
    """The fields of ``costs`` that have no meaning in this mode."""
    return [cost for own, costs in _COSTS.items() if own != mode for cost in costs]
