"""What is installed: `tidegauge` alone, with all rooms in it, on locked dependencies."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterable
from pathlib import Path, PurePosixPath
from zipfile import ZipFile

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
LOCK = (ROOT / "requirements.lock").read_text()
BENCH_LOCK = (ROOT / "bench" / "requirements.lock").read_text()


def strangers(names: Iterable[str]) -> set[str]:
    """What else than ``tidegauge`` and its metadata these files put into site-packages."""
    tops = {PurePosixPath(name).parts[0] for name in names}
    return {top for top in tops if top != "tidegauge" and not top.endswith(".dist-info")}


def rooms_in(house: Path) -> list[Path]:
    """The folders at the top of the house that are packages."""
    return [file.parent for file in house.glob("*/__init__.py")]


def packages_in(house: Path) -> dict[str, Path]:
    """Every package of the house: its name once installed, and its folder."""
    folders = [file.parent for room in rooms_in(house) for file in room.rglob("__init__.py")]
    names = [".".join(folder.relative_to(house).parts) for folder in folders]
    return {
        name if name.split(".")[0] == "tidegauge" else f"tidegauge.{name}": folder
        for name, folder in zip(names, folders, strict=True)
    }


def names_of(requirements: Iterable[str]) -> set[str]:
    """Names of the distributions that requirements ask for."""
    return {re.split(r"[<>=\[ ;]", requirement)[0].lower() for requirement in requirements}


def locked_names(lock: str) -> set[str]:
    """Names of the distributions that a lock file pins."""
    return set(re.findall(r"^([a-z0-9-]+)==", lock, re.MULTILINE))


def unhashed(lock: str) -> list[str]:
    """The requirements in a lock file that come without a hash."""
    requirements = re.findall(r"^\S(?:.*\\\n)*.*", lock, re.MULTILINE)
    return [requirement for requirement in requirements if "--hash=" not in requirement]


def test_the_wheel_holds_tidegauge_and_nothing_else(tmp_path: Path) -> None:
    # Built from a copy, since a build leaves folders of its own behind.
    house = tmp_path / "house"
    house.mkdir()
    for name in ("pyproject.toml", "LICENSE", "README.md"):
        if (ROOT / name).exists():
            shutil.copy(ROOT / name, house)
    for folder in [*rooms_in(ROOT), ROOT / "docs"]:
        shutil.copytree(folder, house / folder.name)

    pip_wheel = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps"]
    subprocess.run(
        [*pip_wheel, "--no-build-isolation", "--wheel-dir", str(tmp_path), str(house)],
        check=True,
    )

    (wheel,) = tmp_path.glob("*.whl")
    names = set(ZipFile(wheel).namelist())
    assert strangers(names) == set()
    for package, folder in packages_in(ROOT).items():
        assert {f"{package.replace('.', '/')}/{file.name}" for file in folder.glob("*.py")} <= names
    assert {
        "tidegauge/py.typed",
        "tidegauge/laboratory/conformance/known_differences.md",
        "tidegauge/scenarios/quickstart.yaml",
        "tidegauge/metrics/COVERAGE.md",
        "tidegauge/docs/first-hour.md",
        "tidegauge/deploy/grafana/dashboards/tidegauge.json",
        "tidegauge/deploy/prometheus/rules/tidegauge.rules.yml",
    } <= names


def test_the_build_knows_every_package() -> None:
    manual = {"tidegauge.docs"}  # pages, no code
    assert set(PROJECT["tool"]["setuptools"]["packages"]) == packages_in(ROOT).keys() | manual


def test_the_lock_holds_every_dependency() -> None:
    project = PROJECT["project"]
    extras = project["optional-dependencies"]
    wanted = [*project["dependencies"], *(each for extra in extras.values() for each in extra)]
    assert names_of(wanted) - {"tidegauge"} <= locked_names(LOCK)
    assert names_of(PROJECT["dependency-groups"]["bench"]) <= locked_names(BENCH_LOCK)


def test_two_locks_have_one_version_of_a_package() -> None:
    both = locked_names(LOCK) & locked_names(BENCH_LOCK)
    versions = [
        {
            line
            for line in re.findall(r"^([a-z0-9-]+)==([^ ]+)", lock, re.MULTILINE)
            if line[0] in both
        }
        for lock in (LOCK, BENCH_LOCK)
    ]
    assert versions[0] == versions[1]


@pytest.mark.parametrize("lock", [LOCK, BENCH_LOCK], ids=["all", "bench"])
def test_the_lock_pins_by_hash_and_names_no_place(lock: str) -> None:
    assert unhashed(lock) == []
    assert "://" not in lock
    assert "file:" not in lock


def test_a_stranger_in_site_packages_is_found() -> None:
    names = ["tidegauge/__init__.py", "tidegauge-0.1.0.dist-info/METADATA", "metrics/names.py"]
    assert strangers(names) == {"metrics"}


def test_rooms_and_their_packages_are_found(tmp_path: Path) -> None:
    for folder in ("tidegauge/commands", "metrics/rules", "tests/data", ".venv/numba"):
        (tmp_path / folder).mkdir(parents=True)
    for package in ("tidegauge", "tidegauge/commands", "metrics", "metrics/rules", ".venv/numba"):
        (tmp_path / package / "__init__.py").touch()
    assert packages_in(tmp_path) == {
        "tidegauge": tmp_path / "tidegauge",
        "tidegauge.commands": tmp_path / "tidegauge" / "commands",
        "tidegauge.metrics": tmp_path / "metrics",
        "tidegauge.metrics.rules": tmp_path / "metrics" / "rules",
    }


@pytest.mark.parametrize(
    ("lock", "bare"),
    [
        ("ray==2.60.0 \\\n    --hash=sha256:0a \\\n    --hash=sha256:0b\n", []),
        ("ray==2.60.0\nrich==15.0.0 \\\n    --hash=sha256:0a\n", ["ray==2.60.0"]),
        ("rich==15.0.0 \\\n    --hash=sha256:0a\nray==2.60.0\n", ["ray==2.60.0"]),
    ],
)
def test_a_requirement_without_hash_is_found(lock: str, bare: list[str]) -> None:
    assert unhashed(lock) == bare
    assert "ray" in locked_names(lock)
