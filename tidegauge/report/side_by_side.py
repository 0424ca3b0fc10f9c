"""Two to four variants of a cluster side by side, such as ZooKeeper and KRaft: a row per figure."""

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import NamedTuple

from tidegauge.analysis.making.run_tables import RunTables
from tidegauge.analysis.over_seeds import OverSeeds
from tidegauge.analysis.tables.control_plane import CONTROL_PLANE_FIGURES
from tidegauge.report.charts import COLOURS
from tidegauge.report.one_run import folders_command
from tidegauge.report.quantities import mean_text
from tidegauge.report.section import Commands, Folded, Piece, Section, Words
from tidegauge.runs.compared import ComparedFigure, caveat_in, compared_in, variants_of
from tidegauge.runs.figures import FIGURES
from tidegauge.scenario.text.errors import counted

_SAYS = (
    "The mean over seeds, with its confidence band (95 %) where it is wide enough to print. "
    "One variant is better if its whole band is below the others; less is better for each figure. "
    "The ratio is the last variant by the first."
)
#: In pixels: a dot with its band, the height of each, and the margin of all.
_WIDTH, _LINE, _MARGIN = 150, 15, 6


def section(tables: RunTables) -> Section | None:
    """The section about runs of two to four variants; None: these are others."""
    variants = variants_of(tables.runs)
    if variants is None:
        return None
    figures = compared_in(tables, variants)
    shown = [each for each in figures if not each.is_always_zero]
    zero = [each for each in figures if each.is_always_zero]
    warning = caveat_in(tables, variants)
    pieces: list[Piece] = [Words(_SAYS, "note")]
    pieces += [Words(warning, "bad")] if warning else []
    pieces += [Words(each) for each in _in_short(shown, list(variants))]
    if shown:
        seeds = {name: len(runs) for name, runs in variants.items()}
        pieces.append(FigureTable(seeds, shown))
    if zero:
        pieces.append(Words(f"0 in all runs: {_listed(zero)}.", "note"))
    recorded = {each.name for each in figures}
    if "control_requests" not in recorded:
        pieces.append(
            Words("Requests are counted in runs that record them: --trace-level all.", "note")
        )
    explained = [*shown, *(each for each in zero if each.exception)]
    cases = sum(1 for each in explained if each.exception)
    answer = f"the mechanism behind {counted(len(explained), 'figure')}"
    answer += f", with {counted(cases, 'case')} in which KRaft is not better." if cases else "."
    pieces += [
        Folded("What decides:", answer, [Explanations(explained)]),
        Commands([folders_command(tables.runs, "--table", CONTROL_PLANE_FIGURES.name)]),
    ]
    return Section("side-by-side", f"Side by side: {' and '.join(variants)}", pieces)


def _in_short(figures: Sequence[ComparedFigure], variants: Sequence[str]) -> Iterator[str]:
    """The figures in which each variant is better, and those in which none is."""
    for name in variants:
        better = [each for each in figures if each.better == name]
        if better:
            yield f"{name} is better in {counted(len(better), 'figure')}: {_listed(better)}."
    undecided = [each for each in figures if each.better is None and each.verdict]
    if undecided:
        yield f"None is better in {counted(len(undecided), 'figure')}: {_listed(undecided)}."


def _listed(figures: Sequence[ComparedFigure]) -> str:
    return "; ".join(
        each.label if each.label[:2].isupper() else each.label[0].lower() + each.label[1:]
        for each in figures
    )


class FigureTable(NamedTuple):
    """The table: a row for each figure, a column for each variant, and a small picture."""

    #: The number of seeds of each variant.
    seeds: Mapping[str, int]
    figures: Sequence[ComparedFigure]

    def html(self) -> str:
        """A table; where the page is narrow, a card for each figure."""
        colours = dict(zip(self.seeds, COLOURS, strict=False))
        heads = "".join(
            f'<th scope="col" class="number">{_mark(colours[name])}{escape(name)}'
            f"<small>{counted(seeds, 'seed')}</small></th>"
            for name, seeds in self.seeds.items()
        )
        body = "".join(
            f'<tr><th scope="row" title="{escape(FIGURES[each.name].meaning)}">'
            f"{escape(each.label)}</th>"
            f"{''.join(_cell(each, name) for name in self.seeds)}"
            f'<td class="number" data-of="Ratio">{_ratio(each)}</td>'
            f'<td data-of="Result">{_verdict(each, colours)}</td>'
            f'<td data-of="Means and bands">{_picture(each, colours)}</td></tr>'
            for each in self.figures
        )
        return (
            '<table class="compared"><caption>The figures of each variant</caption><thead><tr>'
            f'<th scope="col">Figure</th>{heads}<th scope="col" class="number">Ratio</th>'
            '<th scope="col">Result</th><th scope="col">Means and bands</th></tr></thead>'
            f"<tbody>{body}</tbody></table>"
        )


class Explanations(NamedTuple):
    """The reasons of each figure, and where KRaft is not better."""

    figures: Sequence[ComparedFigure]

    def html(self) -> str:
        """A paragraph for each figure, and one for each note beside it."""
        said = "".join(map(_explained, self.figures))
        return f'<dl class="decides">{said}</dl>'


def _explained(figure: ComparedFigure) -> str:
    beside = (
        ("Where KRaft is not better", figure.exception),
        ("Published, unknown conditions", figure.published),
    )
    paragraphs = "".join(f"<p><b>{title}:</b> {escape(text)}</p>" for title, text in beside if text)
    return f"<dt>{escape(figure.label)}</dt><dd><p>{escape(figure.decides)}</p>{paragraphs}</dd>"


def _mark(colour: str) -> str:
    return f'<i style="background:{colour}"></i>'


def _cell(figure: ComparedFigure, variant: str) -> str:
    found = figure.by_variant[variant]
    if found is None:
        return f'<td class="number" data-of="{escape(variant)}">none</td>'
    band = f"<small>{escape(_band(figure, found))}</small>"
    mean = escape(mean_text(found.mean, figure.unit))
    return f'<td class="number" data-of="{escape(variant)}">{mean}{band}</td>'


def _band(figure: ComparedFigure, found: OverSeeds) -> str:
    if found.seeds == 1 or not found.above_zero:
        return ""
    if found.low is None or found.high is None:
        return f"above 0 in {found.above_zero:,} of {found.seeds:,}"
    low, high = (mean_text(each, figure.unit) for each in (found.low, found.high))
    return "" if low == high else f"{low} to {high}"


def _ratio(figure: ComparedFigure) -> str:
    return "" if figure.ratio is None else f"{figure.ratio:,.3g}"


def _verdict(figure: ComparedFigure, colours: Mapping[str, str]) -> str:
    mark = _mark(colours[figure.better]) if figure.better else ""
    return f"{mark}{escape(figure.verdict)}"


def _picture(figure: ComparedFigure, colours: Mapping[str, str]) -> str:
    """A dot and a band for each variant, on one scale from 0 on."""
    known = {name: each for name, each in figure.by_variant.items() if each is not None}
    most = max(_ends(each)[1] for each in known.values()) or 1.0
    scale = (_WIDTH - 2 * _MARGIN) / most
    lines = []
    for place, (name, each) in enumerate(known.items()):
        y = place * _LINE + _LINE / 2
        low, mean, high = (_MARGIN + scale * x for x in (_ends(each)[0], each.mean, _ends(each)[1]))
        colour = colours[name]
        lines.append(
            f'<line x1="{low:.1f}" x2="{high:.1f}" y1="{y}" y2="{y}" style="stroke:{colour}"/>'
            f'<circle cx="{mean:.1f}" cy="{y}" r="4" style="fill:{colour}"/>'
        )
    height = _LINE * len(known)
    label = "; ".join(f"{name} {mean_text(each.mean, figure.unit)}" for name, each in known.items())
    return (
        f'<svg class="dots" role="img" aria-label="{escape(label)}" width="{_WIDTH}" '
        f'height="{height}" viewBox="0 0 {_WIDTH} {height}">'
        f'<line class="zero" x1="{_MARGIN}" x2="{_MARGIN}" y1="0" y2="{height}"/>'
        f"{''.join(lines)}</svg>"
    )


def _ends(found: OverSeeds) -> tuple[float, float]:
    if found.low is None or found.high is None:
        return found.smallest, found.largest
    return found.low, found.high
