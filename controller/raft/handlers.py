"""Who handles which kind of event of Raft: ``@RAFT.handles(...)``."""

from __future__ import annotations

from tidegauge.compiled.handlers import Handlers

#: The handlers return whether they keep the event.
RAFT = Handlers()
