"""The meaning of a field: the comment above it in its class."""

import inspect
from collections.abc import Mapping
from functools import cache
from typing import Any


@cache
def meanings_of(record: Any) -> Mapping[str, str]:
    """The meaning of each field of a class of records that has a comment, by the field's name.

    Fields below one comment share it.
    """
    found: dict[str, str] = {}
    for declaring in reversed(record.__mro__):
        if vars(declaring).get("__annotations__"):
            found |= _meanings_in(inspect.getsource(declaring))
    return found


def _meanings_in(source: str) -> dict[str, str]:
    found: dict[str, str] = {}
    comment: list[str] = []
    is_read = False
    for line in map(str.strip, source.splitlines()):
        if line.startswith("#:"):
            # The first line after fields begins another comment.
            comment = [*([] if is_read else comment), line.removeprefix("#:").strip()]
            is_read = False
        elif not line or line.startswith("#"):
            comment = []
        elif comment and line.partition(":")[0].isidentifier():
            found[line.partition(":")[0]] = " ".join(comment).replace("``", "")
            is_read = True
    return found
