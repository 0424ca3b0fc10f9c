"""The memory of a broker's machine: which records of its logs are in it."""

from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from tidegauge.compiled.records import Record, i64
from tidegauge.compiled.rules import code

#: Number of parts of the page cache (``storage/disks.py``).
GENERATIONS = code(4)


class CachedLog(Record):
    """The records of a replica's log that are in the page cache of its broker's machine."""

    #: The generation of the page cache at the last read or append of this log.
    generation: i64
    #: The log end at the start of that generation and of those before it, the newest first.
    starts: Annotated[NDArray[np.int64], (np.int64, (int(GENERATIONS) + 1,))]
