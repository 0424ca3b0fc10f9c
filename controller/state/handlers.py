"""The handlers of events: ``@ZOOKEEPER.handles(...)``, ``@CONTROLLER.handles(...)``.

Handlers of a controller return whether they keep the event.
"""

from tidegauge.compiled.handlers import Handlers

ZOOKEEPER = Handlers()
CONTROLLER = Handlers()
