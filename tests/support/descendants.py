"""Processes that were begun by one of ours: others on this machine may have the same names."""

from __future__ import annotations

from pathlib import Path


def descendants(ancestor: int) -> dict[int, str]:
    """All processes below one, with their command lines."""
    parents: dict[int, int] = {}
    lines: dict[int, str] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            stat = (folder / "stat").read_text()
            lines[int(folder.name)] = (folder / "cmdline").read_text()
        except OSError:
            continue
        state, parent = stat.rpartition(")")[2].split()[:2]
        if state != "Z":
            parents[int(folder.name)] = int(parent)
    found: dict[int, str] = {}
    for process in parents:
        above = process
        while above in parents and above != ancestor:
            above = parents[above]
        if above == ancestor and process != ancestor:
            found[process] = lines[process]
    return found
