"""What ZooKeeper answers (``KeeperException.Code``)."""

from __future__ import annotations

from tidegauge.compiled.codes import code

OK = code(0)
NO_NODE = code(-101)
BAD_VERSION = code(-103)
NODE_EXISTS = code(-110)
SESSION_EXPIRED = code(-112)
#: A transaction has failed at its check of /controller_epoch: another is controller.
CONTROLLER_MOVED = code(1)

#: Name of each code.
NAMES: dict[int, str] = {
    int(value): name for name, value in list(globals().items()) if name.isupper()
}
