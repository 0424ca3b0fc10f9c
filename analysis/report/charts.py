"""How all charts look: fonts, axes, colours; plotly draws them by these settings.

Colours are those of the style sheet (``page.css``), after Okabe and Ito: people who do not see all
colours can tell them apart, too.
"""

from __future__ import annotations

from typing import Any

#: Colours for what is drawn side by side, in this order.
COLOURS = tuple(
    f"var(--{name})" for name in ("blue", "orange", "green", "purple", "sky", "red", "yellow")
)
BAD = "var(--red)"
WORSE = "var(--purple)"
WARNING = "var(--orange)"
GOOD = "var(--blue)"
QUIET = "var(--muted)"
BAND = "var(--band)"

_FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif"


def seconds(time_us: float) -> float:
    """A moment or a length of virtual time, as an axis of time takes it."""
    return round(time_us / 1e6, 6)


def layout(height: int, **more: Any) -> dict[str, Any]:
    """The layout that all charts have in common.

    Args:
        height: in pixels.
        more: what is said of this one.
    """
    return {
        "height": height,
        "font": {"family": _FONT, "size": 13, "color": "var(--ink)"},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "margin": {"l": 64, "r": 16, "t": 36, "b": 40},
        "hoverlabel": {
            "bgcolor": "var(--paper)",
            "bordercolor": "var(--muted)",
            "font": {"color": "var(--ink)"},
        },
        "legend": {"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom"},
        **more,
    }


def axis(title: str = "", **more: Any) -> dict[str, Any]:
    """An axis of numbers or names."""
    return {
        "title": {"text": title, "font": {"size": 12}},
        "gridcolor": "var(--grid)",
        "linecolor": "var(--grid)",
        "zerolinecolor": "var(--grid)",
        "automargin": True,
        **more,
    }


def time_axis(begin_us: int, end_us: int, **more: Any) -> dict[str, Any]:
    """An axis of virtual time in seconds, as times are printed: finer where one looks closer."""
    return axis(
        type="linear",
        range=[seconds(begin_us), seconds(end_us)],
        exponentformat="none",
        ticksuffix="s",
        hoverformat=".3f",
        **more,
    )


def fault_band(fault: dict[str, Any]) -> dict[str, Any]:
    """When a fault was on, behind all that is drawn over time; of a row of the table of faults."""
    return {
        "type": "rect",
        "xref": "x",
        "yref": "paper",
        "y0": 0,
        "y1": 1,
        "layer": "below",
        "x0": seconds(fault["begin_us"]),
        "x1": seconds(fault["end_us"]),
        "fillcolor": BAND,
        "line": {"width": 0},
    }
