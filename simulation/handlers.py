"""Who handles faults, and what begins or is released after them: ``@FAULTS.handles(...)``."""

from __future__ import annotations

from tidegauge.compiled.handlers import Handlers

FAULTS = Handlers()
