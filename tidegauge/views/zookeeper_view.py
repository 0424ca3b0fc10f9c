"""``tidegauge show --zookeeper``: the znodes at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidegauge.views.story_lines import when_text

if TYPE_CHECKING:
    from rich.console import Console

    from tidegauge.traces.run_folder import RunFolder


def show_zookeeper(out: Console, run: RunFolder, at_us: int | None) -> None:
    """Print all znodes, in the manner of ``zookeeper-shell``."""
    from rich.text import Text

    from tidegauge.history.znode_tree import znode_tree

    znodes = znode_tree(run, at_us)
    out.print(f"ZooKeeper {when_text(at_us)}: {len(znodes)} znodes", style="bold")
    for znode in znodes:
        line = Text(f"{znode.path} ")
        line.append("null" if znode.data is None else znode.data, style="bold")
        line.append(f" dataVersion={znode.version}")
        if znode.owner is not None:
            broker, session = znode.owner
            line.append(f" ephemeralOwner=session {session} of broker {broker}")
        out.print(line, soft_wrap=True)
