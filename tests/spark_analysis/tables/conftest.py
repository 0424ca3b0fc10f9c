"""Three recorded runs, and their rows for Spark: a crash, a rack without power, a wild schedule."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from fault_schedules import schedule
from recorded_tables import RUNS, WILD_SEED
from tidegauge.run_folder import RunFolder
from tidegauge.shipped_scenarios import find_scenario
from tidegauge.simulate import simulate
from tidegauge.simulation.scenario import load_scenario
from tidegauge.spark_analysis.tables.run_rows import RunRows, rows_of_runs
from twelve_brokers import twelve_brokers


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All tables of three runs take minutes: `tidegauge analyze` is tested each time, these not."""
    for item in items:
        if {"rows", "recorded"} & {*getattr(item, "fixturenames", ())}:
            item.add_marker(pytest.mark.long)


@pytest.fixture(scope="session")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> dict[str, RunFolder]:
    """The runs by their names."""
    folder = tmp_path_factory.mktemp("recorded")
    scenarios = (load_scenario(find_scenario("quickstart")), twelve_brokers(), schedule(WILD_SEED))
    return {
        name: simulate(scenario, folder / name)
        for name, scenario in zip(RUNS, scenarios, strict=True)
    }


@pytest.fixture(scope="session")
def rows(spark: SparkSession, recorded: dict[str, RunFolder]) -> Iterator[RunRows]:
    """The rows of all three: each table is made once for all of them."""
    kept = rows_of_runs(spark, [run.path for run in recorded.values()])
    yield kept
    kept.release()
