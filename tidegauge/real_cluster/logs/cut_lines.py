"""Lines that a container runtime has cut: joined again.

In the format of CRI (``/var/log/containers``) each line has the time, the stream and a tag before
it. The runtime cuts a line of 8 or 16 KB into several; all parts but the last have the tag ``P``.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

_TAG = rb"20\d\d-\d\d-\d\dT[\d:.]++\S* std(?:out|err) "
_LINE = re.compile(
    rb"^(?P<before>[^\n]{0,200}?" + _TAG + rb")(?P<tag>[FP])(?::\S*)? (?P<text>[^\n]*\n?)",
    re.MULTILINE,
)
_PARTIAL = re.compile(_TAG + rb"P(?::\S*)? ")
#: The time in front of the stream: parts of a line differ in it alone.
_STREAM = re.compile(rb"20\d\d-\d\d-\d\dT\S+ ")


#: The tag is within so many bytes.
_HEAD_BYTES = 300


class CutLines(NamedTuple):
    """Lines in the format of CRI, some of them cut."""

    def joined(self, lines: bytes) -> bytes:
        """Whole lines: each with the time of its last part."""
        return b"".join(self._joined(lines)) if _PARTIAL.search(lines) else lines

    def _joined(self, lines: bytes) -> Iterator[bytes]:
        begun: dict[bytes, bytes] = {}
        at = 0
        for found in _LINE.finditer(lines):
            yield lines[at : found.start()]
            at = found.end()
            stream = _STREAM.sub(b"", found["before"])
            text = begun.pop(stream, b"") + found["text"]
            if found["tag"] == b"P":
                begun[stream] = text.rstrip(b"\n")
            else:
                yield found["before"] + b"F " + text
        yield lines[at:]

    def begin_of_whole(self, data: bytes, begin: int) -> int:
        """The place behind the first line from ``begin`` on that ends one; 0: there is none."""
        while begin:
            end = data.find(b"\n", begin) + 1
            if end and not self._goes_on(data, begin, end):
                return end
            begin = end
        return 0

    def end_of_whole(self, data: bytes, end: int) -> int:
        """The place behind the last line before ``end`` that does not go on behind it."""
        while end:
            begin = data.rfind(b"\n", 0, end - 1) + 1
            if not self._goes_on(data, begin, end):
                break
            end = begin
        return end

    def _goes_on(self, data: bytes, begin: int, end: int) -> bool:
        return _PARTIAL.search(data, begin, min(begin + _HEAD_BYTES, end)) is not None


def cut_lines_of(sample: bytes) -> CutLines | None:
    """Lines of a file that begins so, if it has the format of CRI: any later one may be cut."""
    return CutLines() if _LINE.search(sample) else None
