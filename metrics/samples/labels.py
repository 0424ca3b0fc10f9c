"""Labels as a page has them: ``topic="orders",partition="3"``.

What stands between the quotes is escaped as both formats ask for: backslash, quote, end of line.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

_ESCAPES = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})
_MEANINGS = {r"\\": "\\", r"\"": '"', r"\n": "\n"}
_ESCAPED = re.compile(r"\\[\\\"n]")
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')


def label_text(labels: Mapping[str, object]) -> str:
    """Labels in the order in which they are given, as a page has them between braces."""
    return ",".join(f'{name}="{str(value).translate(_ESCAPES)}"' for name, value in labels.items())


def labels_of(text: str) -> dict[str, str]:
    """The labels that :func:`label_text` has written."""
    return {
        name: _ESCAPED.sub(lambda escape: _MEANINGS[escape[0]], value)
        for name, value in _LABEL.findall(text)
    }


def joined(*texts: str) -> str:
    """Several label texts as one; empty ones leave no comma."""
    return ",".join(text for text in texts if text)
