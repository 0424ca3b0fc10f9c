"""Who handles which kind of event: ``@OPERATOR.handles(...)``."""

from __future__ import annotations

from tidegauge.compiled.handlers import Handlers

OPERATOR = Handlers()
