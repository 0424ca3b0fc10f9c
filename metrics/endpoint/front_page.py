"""The page at ``/``, for browsers: the targets and their paths."""

from __future__ import annotations

from html import escape

from tidegauge.metrics.endpoint.pages import Pages
from tidegauge.metrics.samples.targets import metrics_path, target_name, targets_of

_PAGE = """<!DOCTYPE html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
<title>{name} - Tidegauge</title>
<style>
body {{ font: 1rem/1.5 system-ui, sans-serif; max-width: 44rem; margin: 2rem auto }}
td {{ padding-right: 2rem; vertical-align: top }}
</style>
<h1>{name}</h1>
<p>A cluster that <b>Tidegauge</b> simulates: {time}. Single partitions are shown at level
<b>{level}</b>, names are those of {exporter}.</p>
<p><a href="/sd">/sd</a> lists the targets below for Prometheus (<code>http_sd_configs</code>);
<a href="/metrics">/metrics</a> has the samples of all targets on one page, each with the labels
of its target.</p>
<table>
{targets}
</table>
</html>
"""


def front_page(pages: Pages) -> bytes:
    """The current page."""
    rows = []
    for target in targets_of(pages.plan):
        path = metrics_path(pages.plan, target)
        rows.append(
            f'<tr><td>{target_name(pages.plan, target)}<td><a href="{path}">{path}</a>'
            f"<td>{pages.why_not(target) or 'up'}"
        )
    time_us = pages.time_us
    time = "the run has not begun" if time_us is None else f"{time_us / 1e6:,.1f} s of virtual time"
    return _PAGE.format(
        name=escape(pages.plan.scenario.name),
        time=time,
        level=pages.level,
        exporter=escape(pages.spelling.exporter),
        targets="\n".join(rows),
    ).encode()
