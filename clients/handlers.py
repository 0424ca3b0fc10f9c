"""The handlers of a client's events, which enter themselves where they are."""

from tidegauge.compiled.handlers import Handlers

#: Those of producers and consumers, and those of the operator.
CLIENT = Handlers()
OPERATOR = Handlers()
