"""The options about measured values: of ``tidegauge import`` and ``tidegauge calibrate``."""

from __future__ import annotations

import re
import time
from collections.abc import Collection
from datetime import datetime
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tidegauge.options.watching import spelling_named
from tidegauge.views.output import fail

if TYPE_CHECKING:
    from tidegauge.real_cluster.rates.measured_clients import MeasuredClients
    from tidegauge.real_cluster.rates.rate_source import Matcher, RateSource, Window

_NUMBER = re.compile(r"\d{1,15}(\.\d+)?")
_LEAST_OVER_US = 1_000_000


class MeasuredRatesRequest(NamedTuple):
    """The options as they are given."""

    prometheus: str | None = None
    samples: tuple[Path, ...] = ()
    at: str | None = None
    over: str | None = None
    match: str | None = None
    spelling: str | None = None

    def reader(self, rates: Path | None) -> MeasuredClients | None:
        """The reader of measured rates; None: none are wanted. Fails if options are invalid."""
        from tidegauge.real_cluster.describe.input_file import InputError
        from tidegauge.real_cluster.rates.measured_clients import of_prometheus, of_samples

        self._check(rates)
        if self.prometheus is None and not self.samples:
            return None
        at_s, over_s = self._at_s(), self._over_s()
        matchers = self._matchers()
        spelling = None if self.spelling is None else spelling_named(self.spelling)
        if self.prometheus is None:
            return of_samples(self.samples, at_s, over_s, matchers, spelling)
        try:
            return of_prometheus(self.prometheus, _window(at_s, over_s), matchers, spelling)
        except InputError as error:
            fail(str(error))

    def source(self, wanted: Collection[str]) -> RateSource | None:
        """The place that has series; None: none is wanted. Fails if it cannot be read.

        Args:
            wanted: the names, in small letters, of the series that are kept of files.
        """
        from tidegauge.real_cluster.describe.input_file import InputError
        from tidegauge.real_cluster.rates.measured_clients import DEFAULT_OVER_S
        from tidegauge.real_cluster.rates.prometheus_api import PrometheusSource
        from tidegauge.real_cluster.rates.sample_files import SampleReader

        self._check(None)
        at_s, over_s, matchers = self._at_s(), self._over_s(), self._matchers()
        try:
            if self.prometheus is not None:
                return PrometheusSource(self.prometheus, _window(at_s, over_s), matchers)
            if self.samples:
                reader = SampleReader(lambda name: name.lower() in wanted, matchers, over_s)
                return reader.source(self.samples, DEFAULT_OVER_S, at_s)
        except InputError as error:
            fail(str(error))
        return None

    def _check(self, rates: Path | None) -> None:
        """Fail if the options contradict each other."""
        sources = {
            "--rates": rates,
            "--prometheus": self.prometheus,
            "--samples": self.samples or None,
        }
        given = [option for option, value in sources.items() if value is not None]
        if len(given) > 1:
            fail(f"{given[0]} excludes {given[1]}: rates have one origin")
        others = {
            "--at": self.at,
            "--over": self.over,
            "--match": self.match,
            "--metrics-spelling": self.spelling,
        }
        if self.prometheus is None and not self.samples:
            for option, value in others.items():
                if value is not None:
                    fail(f"{option} needs --prometheus or --samples")

    def _at_s(self) -> float | None:
        """The moment of ``--at`` in seconds since 1970; None: now, or that of the last sample."""
        from tidegauge.real_cluster.rates.rate_source import in_seconds

        if self.at is None:
            return None
        text = self.at.strip()
        if text == "now":
            return time.time()
        form = "must be a time such as 2026-11-24T17:40:00Z, seconds since 1970, or now"
        if _NUMBER.fullmatch(text):
            return in_seconds(float(text))
        try:
            moment = datetime.fromisoformat(text)
            at_s = moment.timestamp()
        except (ValueError, OverflowError, OSError):
            fail(f"--at {self.at}: {form}")
        if moment.tzinfo is None:
            fail(f"--at {self.at}: needs a time zone, such as Z or +02:00")
        if not isfinite(at_s) or at_s < 0:
            fail(f"--at {self.at}: {form}")
        return at_s

    def _over_s(self) -> float | None:
        from tidegauge.simulation.durations import parse_time

        if self.over is None:
            return None
        try:
            over_us = parse_time(self.over)
        except ValueError as error:
            fail(f"--over {self.over}: {error}")
        if over_us < _LEAST_OVER_US:
            fail(f"--over {self.over}: must be 1s or more")
        return over_us / 1e6

    def _matchers(self) -> tuple[Matcher, ...]:
        from tidegauge.real_cluster.rates.rate_source import parse_matchers

        if self.match is None:
            return ()
        try:
            return parse_matchers(self.match)
        except ValueError as error:
            fail(f"--match {self.match}: {error}")


def _window(at_s: float | None, over_s: float | None) -> Window:
    """The time that a Prometheus is asked about; it ends now, unless a moment is given."""
    from tidegauge.real_cluster.rates.measured_clients import DEFAULT_OVER_S
    from tidegauge.real_cluster.rates.rate_source import Window

    end_s = time.time() if at_s is None else at_s
    return Window(end_s - (DEFAULT_OVER_S if over_s is None else over_s), end_s)
