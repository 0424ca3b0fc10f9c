"""Who handles which kind of event: ``@QUORUM.handles(...)``, ``@WRITES.handles(...)``."""

from __future__ import annotations

from tidegauge.compiled.handlers import Handlers

#: Events that pass by the queue; their handlers return whether they keep the event.
QUORUM = Handlers()
#: Events of the queue (Kafka: ControllerWriteEvent); their handlers append records.
WRITES = Handlers()
