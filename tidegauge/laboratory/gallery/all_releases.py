"""An incident in every release of its mode: where its schedule shows it, and where the table says.

A release shows an incident if each figure and check is as in the affected one, and is without it if
each is as in the fixed one. Releases in which the scenario cannot be run are left out.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

from tidegauge.laboratory.gallery.comparison import Values, scenario_of, values_of
from tidegauge.laboratory.gallery.incidents import Incident
from tidegauge.replication.release_versions import Release, all_releases
from tidegauge.scenario.reading import ScenarioError

#: ``2.8.0 to 3.4.0``, ``up to 3.9.0``, ``4.0.0``.
_RANGE = re.compile(r"(?:(?P<first>[\d.]+) to |(?P<open>up to ))?(?P<last>[\d.]+)")


class AllReleases(NamedTuple):
    """The releases of an incident's mode, by the outcomes of their runs."""

    incident: Incident
    #: Whether each release shows the incident; None: neither that nor its absence.
    shown: Mapping[Release, bool | None]

    @property
    def declared(self) -> Mapping[Release, bool] | None:
        """Whether each release has it, as the table says; None: other conditions decide."""
        return affected_releases(self.incident.affected, self.shown)

    @property
    def deviations(self) -> list[Release]:
        """The releases that show it and are not called affected, and the other way round."""
        declared = self.declared
        if declared is None:
            return []
        return [each for each, shown in self.shown.items() if bool(shown) != declared[each]]

    def text(self, *, shown: bool | None) -> str:
        """The releases with an outcome, as ranges: ``2.8.0 to 3.4.0``; empty: none."""
        return ranges_text(self.shown, [each for each, it in self.shown.items() if it is shown])


def in_all_releases(incident: Incident) -> AllReleases:
    """Run an incident in each release of its mode, otherwise as in the affected one."""
    scenarios = {}
    for release in all_releases(incident.mode):
        with suppress(ScenarioError):
            version = incident.shown_in._replace(release=str(release))
            scenarios[release] = scenario_of(incident, version)
    values = values_of(incident, scenarios.values())
    shown = (_is_shown(incident, each) for each in values)
    return AllReleases(incident, dict(zip(scenarios, shown, strict=True)))


def _is_shown(incident: Incident, values: Values) -> bool | None:
    """Whether a run shows an incident; None: it shows neither that nor its absence."""
    if all(each.affected.has(values[each.name]) for each in incident.expected):
        return True
    if all(each.fixed.has(values[each.name]) for each in incident.expected):
        return False
    return None


def affected_releases(text: str, releases: Iterable[Release]) -> dict[Release, bool] | None:
    """Whether each of these releases is in ranges such as ``2.8.0 to 3.4.0, 4.0.0``.

    ``all`` and a condition are all of them; other words than versions are None: not to be decided.
    """
    if text.startswith("all"):
        return dict.fromkeys(releases, True)
    ranges = [_RANGE.fullmatch(each) for each in text.split(", ")]
    found = [_ends(each) for each in ranges if each is not None]
    if len(found) < len(ranges):
        return None
    return {each: any(first <= each <= last for first, last in found) for each in releases}


def _ends(match: re.Match[str]) -> tuple[Release, Release]:
    last = Release.parse(match["last"])
    first = all_releases()[0] if match["open"] else Release.parse(match["first"] or match["last"])
    return first, last


def ranges_text(all_of_them: Iterable[Release], chosen: Sequence[Release]) -> str:
    """Some of the releases, as ranges without a gap."""
    return ", ".join(
        str(run[0]) if len(run) == 1 else f"{run[0]} to {run[-1]}"
        for run in _runs(list(all_of_them), chosen)
    )


def _runs(ordered: Sequence[Release], chosen: Sequence[Release]) -> Iterator[list[Release]]:
    run: list[Release] = []
    for each in ordered:
        if each in chosen:
            run.append(each)
        elif run:
            yield run
            run = []
    if run:
        yield run
