"""The style of all charts: fonts, axes, colours; plotly draws them by these settings.

Colours are those of the style sheet (``page.css``), after Okabe and Ito: they differ for people
with any colour vision.
"""

from collections.abc import Sequence
from typing import Any

from tidegauge.report.section import plain

#: Colours for lines that are drawn side by side, in this order.
COLOURS = tuple(
    f"var(--{name})" for name in ("blue", "orange", "green", "purple", "sky", "red", "yellow")
)
BAD = "var(--red)"
WORSE = "var(--purple)"
WARNING = "var(--orange)"
GOOD = "var(--blue)"
SKY = "var(--sky)"
QUIET = "var(--muted)"
BAND = "var(--band)"

_FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif"


def seconds(time_us: float) -> float:
    """A moment or a length of virtual time, as an axis of time takes it."""
    return round(time_us / 1e6, 6)


def layout(height: int, **more: Any) -> dict[str, Any]:
    """The layout that all charts have in common.

    Args: height: in pixels. more: the chart's own settings.
    """
    return {
        "height": height,
        "font": {"family": _FONT, "size": 12, "color": "var(--ink)"},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        # Fixed, so that charts one below the other have the same axis.
        "margin": {"l": 52, "r": 14, "t": 8, "b": 26},
        "showlegend": False,
        "hoverlabel": {
            "bgcolor": "var(--paper)",
            "bordercolor": "var(--muted)",
            "font": {"color": "var(--ink)"},
        },
        **more,
    }


def axis(title: str = "", **more: Any) -> dict[str, Any]:
    """An axis of numbers."""
    return {
        "title": {"text": title, "font": {"size": 12}},
        "gridcolor": "var(--grid)",
        "linecolor": "var(--grid)",
        "zerolinecolor": "var(--grid)",
        **more,
    }


def time_axis(end_us: int) -> dict[str, Any]:
    """An axis of virtual time in seconds, as times are printed: finer where one looks closer."""
    return axis(
        type="linear",
        range=[0, seconds(end_us)],
        exponentformat="none",
        ticksuffix="s",
        tickangle=0,
        hoverformat=".3f",
    )


def lanes(names: Sequence[str]) -> dict[str, Any]:
    """The part of a layout with lanes from top to bottom, each with its name above it.

    Names stand above, and not at the side, as they are long and pages narrow. The lane of number n
    has the vertical place n; bars in it are :data:`LANE_BAR` wide.
    """
    return {
        "barmode": "overlay",
        "yaxis": axis(
            range=[len(names) - 0.5, -0.5], fixedrange=True, showgrid=False, visible=False
        ),
        "annotations": [
            {
                "text": plain(shortened(name)),
                "x": 0,
                "xref": "paper",
                "xanchor": "left",
                "y": place - 0.5,
                "yanchor": "top",
                "showarrow": False,
                "font": {"size": 12},
            }
            for place, name in enumerate(names)
        ],
    }


#: In pixels: the height of a lane, its name included.
LANE = 42
#: In parts of a lane: the width of a bar, and the distance of its middle below that of the lane.
LANE_BAR, LANE_LOWER = 0.3, 0.22


def shortened(name: str) -> str:
    """A name that fits above a lane of a narrow page."""
    return name if len(name) <= _NAME else f"{name[: _NAME - 1]}…"


#: The most letters of a name.
_NAME = 40


def fault_band(fault: dict[str, Any]) -> dict[str, Any]:
    """The band of a fault behind all that is drawn over time; from a row of the table of faults."""
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
