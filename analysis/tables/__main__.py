"""Writes the page that documents the tables."""

from pathlib import Path

from tidegauge.analysis.tables.all_tables import documentation

Path(__file__).parents[1].joinpath("TABLES.md").write_text(documentation(), encoding="utf-8")
