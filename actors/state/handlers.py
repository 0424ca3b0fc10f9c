"""The handlers of a broker's events, which enter themselves by ``@BROKER.handles`` where they are.

Requests to a broker have handlers of their own: they run on num.io.threads, and return whether they
are done. The rules that choose among them are made in ``broker.py`` and ``request_handlers.py``.
"""

from tidegauge.compiled.handlers import Handlers

#: Responses, news and timers.
BROKER = Handlers()
#: Requests.
REQUESTS = Handlers()
