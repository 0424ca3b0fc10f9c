"""Pages of samples, as text: Prometheus's own format (0.0.4) and OpenMetrics (1.0).

This writer is for large pages: it joins existing pieces once, some thirty times faster than
prometheus_client; a test compares both. ``page_lines.py`` keeps the unchanged lines of a target's
page.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby

from tidegauge.metrics.endpoint.formats import Format, float_text
from tidegauge.metrics.samples.exposition import Samples
from tidegauge.metrics.samples.layout import Texts
from tidegauge.metrics.spellings.spelling import SpelledFamily


def written_page(
    series: Iterable[Samples], page_format: Format, target_labels: Texts | None = None
) -> bytes:
    """A page. With ``target_labels`` (a label text by target) each sample has its target's, too."""
    blocks = [_block(samples, page_format, target_labels) for samples in by_name(series)]
    if page_format is Format.OPENMETRICS:
        blocks.append(b"# EOF")
    return b"\n".join([*blocks, b""])


def by_name(series: Iterable[Samples]) -> Iterator[list[Samples]]:
    """Samples of one name together: a metric can have several entries."""
    for _, of_one_name in groupby(series, lambda samples: samples.family.name):
        yield list(of_one_name)


def header_of(family: SpelledFamily, page_format: Format) -> str:
    """The header of a metric's samples, without the end of its last line."""
    name, text = family.name, family.help.replace("\\", r"\\").replace("\n", r"\n")
    kind: str = family.kind
    if page_format is Format.OPENMETRICS:
        # Here the name of a metric is that of its samples without the suffix.
        name, text = family.metric_name, text.replace('"', r"\"")
    elif kind == "unknown":
        kind = "untyped"
    return f"# HELP {name} {text}\n# TYPE {name} {kind}"


def _block(series: list[Samples], page_format: Format, target_labels: Texts | None) -> bytes:
    """The header and samples of one metric, without the end of the last line."""
    pieces = [header_of(series[0].family, page_format)]
    for samples in series:
        pieces += _lines(samples, target_labels)
    return "".join(pieces).encode()


def _lines(samples: Samples, target_labels: Texts | None) -> list[str]:
    """Lines of samples in pieces, each behind the end of the line before.

    Either all of them have labels of their own, or none has.
    """
    family, targets, labels, values = samples
    pieces = [f"\n{family.name}{{", "", "} ", ""] * len(values)
    pieces[1::4] = labels.tolist()
    pieces[3::4] = map(float_text if values.dtype.kind == "f" else str, values.tolist())
    if target_labels is not None:
        comma = "," if labels[0] else ""
        pieces[2::4] = (comma + target_labels + "} ")[targets].tolist()
    elif not labels[0]:
        # Empty braces are valid, but unusual.
        pieces[0::4] = [f"\n{family.name} "] * len(values)
        pieces[2::4] = [""] * len(values)
    return pieces
