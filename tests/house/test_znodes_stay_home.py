"""Znodes are known where ZooKeeper is: everybody else asks for what the control plane holds.

So another control plane replaces these rooms, and nothing else.
"""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

#: ZooKeeper, who uses it, what runs of it are read from, and its own views.
ROOMS = (
    "engine/invariants/",
    "controller/",
    "actors/session/",
    "actors/zookeeper_responses.py",
    "simulation/messages/zookeeper_requests.py",
    "simulation/trace_rows/controller_rows.py",
    "simulation/zookeeper_tree.py",
    "tidegauge/real_cluster/describe/",
    "tidegauge/rewind/zookeeper_records.py",
    "tidegauge/runs/zookeeper.py",
    "tidegauge/runs/znode_tree.py",
    "tidegauge/views/controller_view.py",
    "tidegauge/commands/show.py",
    "tidegauge/commands/view_options.py",
    "analysis/tables/notifications.py",
)

#: Files elsewhere, and why each has to know.
EXCEPTIONS = {
    "actors/leaders/isr_changes.py": "a leader fills the write of its partition's state",
    "analysis/tables/topology.py": "notifications are numbered from their first znode on",
    "clients/control_plane_requests.py": "the operator's questions and commands for ZooKeeper",
    "engine/layout/controller_tables.py": "lays out the table of znodes",
    "engine/reassignment_spans.py": "the tool asks nothing while /admin/reassign_partitions exists",
    "simulation/trace_rows/columns.py": "the columns of the rows of znodes",
    "tidegauge/rewind/field_values.py": "a field that is the number of a znode is told by its path",
    "tidegauge/runs/trace_events.py": "a column that is the number of a znode is told by its path",
    "tidegauge/laboratory/conformance/recorded_schedule.py": "recordings name a time so",
    "traces/checks/breaches.py": "leaves these rows out",
}

#: Folders at the top that are no part of the product.
AROUND = {"bench", "build", "docs", "runs", "tests"}


def mentions(text: str) -> bool:
    """Whether a text says "znode" in any form."""
    return "znode" in text.lower()


def strangers() -> set[str]:
    """The files outside of ZooKeeper's rooms that mention a znode."""
    tops = (each for each in ROOT.glob("[a-z]*") if each.is_dir() and each.name not in AROUND)
    files = (file for top in tops for file in top.rglob("*.py"))
    named = {file.relative_to(ROOT).as_posix(): file for file in files}
    return {
        name
        for name, file in named.items()
        if not name.startswith(ROOMS) and mentions(file.read_text())
    }


def test_only_the_exceptions_mention_a_znode_outside_of_zookeeper_s_rooms() -> None:
    assert strangers() == EXCEPTIONS.keys()


def test_the_exceptions_are_few() -> None:
    assert len(EXCEPTIONS) <= 10


def test_any_form_of_the_word_is_found() -> None:
    for text in ("node = plane.znodes[0]", "FIXED_ZNODES", "class Znode"):
        assert mentions(text)
    assert not mentions("a node of the cluster")
