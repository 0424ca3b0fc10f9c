"""Labels in the form of a page: ``topic="orders",partition="3"``.

The text between the quotes is escaped as both formats require: backslash, quote, end of line.
"""

import re
from collections.abc import Mapping

_ESCAPES = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})
_MEANINGS = {r"\\": "\\", r"\"": '"', r"\n": "\n"}
_ESCAPED = re.compile(r"\\[\\\"n]")
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')


def label_text(labels: Mapping[str, object]) -> str:
    """The text of labels between the braces of a page, in the given order."""
    return ",".join(f'{name}="{str(value).translate(_ESCAPES)}"' for name, value in labels.items())


def labels_of(text: str) -> dict[str, str]:
    """The labels that :func:`label_text` has written."""
    return {
        name: _ESCAPED.sub(lambda escape: _MEANINGS[escape[0]], value)
        for name, value in _LABEL.findall(text)
    }


def joined(*texts: str) -> str:
    """Several label texts joined into one; empty ones add no comma."""
    return ",".join(text for text in texts if text)
