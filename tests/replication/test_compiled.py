"""The decorator that compiles the rules, and the cache that it keeps them in."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tidegauge.commands.compile_rules import import_modules_of
from tidegauge.replication import compiled
from tidegauge.replication.compiled import (
    RULES,
    Tables,
    code,
    inner_rule,
    rule,
    signature_of,
    wrapped,
)
from tidegauge.replication.records import (
    Partition,
    Record,
    Records,
    RemoteReplica,
    dtype_of,
    grown,
    new_record,
    new_records,
)
from tidegauge.replication.release_rules import ReleaseRules

HOUSE = Path(compiled.__file__).parent.parent


def test_a_row_reads_and_writes_the_memory_of_its_array() -> None:
    followers = new_records(RemoteReplica, 2)
    followers[1].log_end_offset = 7
    view = followers[1]
    view.last_fetch_time_ms = 3
    assert (followers[1].log_end_offset, followers[1].last_fetch_time_ms) == (7, 3)
    assert followers[0].log_end_offset == 0


@pytest.mark.parametrize("record", [Partition, RemoteReplica, ReleaseRules])
def test_a_record_is_laid_out_as_a_c_struct(record: type[Record]) -> None:
    assert dtype_of(record).isalignedstruct
    assert new_record(record).dtype.names == tuple(dtype_of(record).fields or ())


class Logs(Tables):
    partitions: Records[Partition]
    followers: Records[RemoteReplica]


@inner_rule
def appended(logs: Logs, partition: int, count: int) -> int:
    log = logs.partitions[partition]
    log.log_end_offset += count
    return log.log_end_offset


@rule
def append_twice(logs: Logs, partition: int) -> int:
    """Append one record, and then two."""
    return appended(logs, partition, ONE) + appended(logs, partition, TWO)


ONE, TWO = code(1), code(2)


def new_logs() -> Logs:
    return Logs(partitions=new_records(Partition, 2), followers=new_records(RemoteReplica, 2))


def test_a_rule_writes_the_memory_of_its_tables() -> None:
    logs = new_logs()
    assert append_twice(logs.view, 1) == 4
    assert [logs.partitions[0].log_end_offset, logs.partitions[1].log_end_offset] == [0, 3]


def test_a_view_made_anew_sees_the_table_that_was_exchanged() -> None:
    logs = new_logs()
    append_twice(logs.view, 1)
    logs.partitions = grown(logs.partitions, 4)
    assert append_twice(logs.view, 1) == 10
    assert append_twice(logs.view, 3) == 4


def test_tables_have_all_their_arrays_and_no_others() -> None:
    with pytest.raises(TypeError, match="followers"):
        Logs(partitions=new_records(Partition, 1))


@pytest.mark.skipif(not compiled.COMPILED, reason="plain Python calls what it likes")
def test_an_inner_rule_is_not_called_from_python() -> None:
    append_twice(new_logs().view, 0)
    with pytest.raises(TypeError):
        appended(new_logs().view, 0, 1)


def test_arithmetic_that_wraps_says_so() -> None:
    @rule
    def product(one: int, other: int) -> int:
        """The lowest 64 bits of a product."""
        return wrapped(int(one) * int(other))

    assert product(2**62, 3) == -(2**62)
    assert product(2**62, 4) == 0
    assert product(-7, 5) == -35


def test_every_rule_says_what_it_takes_and_where_it_was_read() -> None:
    import_modules_of(compiled.KERNEL_ROOMS)
    for each in RULES:
        function = getattr(each, "py_func", each)
        signature_of(each)
        assert function.__doc__ or function.__name__.startswith("_"), function.__name__


def test_a_parameter_that_no_rule_can_take_is_named() -> None:
    def wants_a_float(lag: float) -> bool:
        return lag > 0

    with pytest.raises(TypeError, match="float"):
        signature_of(wants_a_float)


def test_constants_are_typed() -> None:
    assert isinstance(code(3), np.int64)
    assert isinstance(code(True), np.bool_)


COUNT_SIGNATURES = """
from tidegauge.commands.compile_rules import import_kernel
from tidegauge.replication import compiled
import_kernel()
assert compiled.compile_all().compiled == len(compiled.RULES)
rules = compiled.RULES + compiled.INNER_RULES
print([rule.py_func.__name__ for rule in rules if len(rule.signatures) > 1])
"""


@pytest.mark.skipif(not compiled.COMPILED, reason="there is nothing compiled to look at")
@pytest.mark.long
def test_no_rule_is_compiled_twice(tmp_path: Path) -> None:
    """A bare literal as an argument compiles its callee once more for each value.

    To be seen only where compilation starts from nothing: from the cache each rule comes in
    the one form that its annotations name.
    """
    told = subprocess.run(
        [sys.executable, "-c", COUNT_SIGNATURES],
        env=os.environ | {"TIDEGAUGE_CACHE_DIR": str(tmp_path)},
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    assert told == "[]\n"


def cache_folder_of(house: Path, module: str = "", **environment: str) -> str:
    """Where the rules of a module of a house would be kept, asked in a process of its own."""
    question = (
        "import sys, types, importlib; package = types.ModuleType('tidegauge');"
        f"package.__path__ = [{str(house)!r}]; sys.modules['tidegauge'] = package;"
        "import tidegauge.replication.compiled as compiled;"
        f"module = {module!r}; module and importlib.import_module(module);"
        "print(compiled.cache_folder() / (compiled._folder_of(module) if module else ''))"
    )
    return subprocess.run(
        [sys.executable, "-c", question],
        env=os.environ | environment,
        check=True,
        capture_output=True,
        text=True,
    ).stdout.strip()


@pytest.fixture
def house(tmp_path: Path) -> Path:
    for room in compiled.KERNEL_ROOMS:
        shutil.copytree(HOUSE / room, tmp_path / room)
    return tmp_path


def test_a_source_names_the_cache_of_all_that_it_can_end_up_in(house: Path) -> None:
    """Numba alone goes on using a rule whose callee in another file has changed."""
    user = "tidegauge.controller.partition_changes"
    before = cache_folder_of(house, user)
    assert cache_folder_of(house, user) == before
    elections = house / "controller" / "elections.py"
    elections.write_text(elections.read_text() + "\n# changed\n")
    assert cache_folder_of(house, user) != before


def test_a_source_leaves_the_cache_of_others_alone(house: Path) -> None:
    """Else each change to a scenario's model would cost a minute of compilation."""
    other = "tidegauge.replication.high_watermark"
    before = cache_folder_of(house, other)
    elections = house / "controller" / "elections.py"
    elections.write_text(elections.read_text() + "\n# changed\n")
    assert cache_folder_of(house, other) == before


def test_code_with_checked_bounds_has_its_own_cache(house: Path) -> None:
    assert cache_folder_of(house, TIDEGAUGE_BOUNDS_CHECK="1") != cache_folder_of(house)


@pytest.mark.skipif(not compiled.COMPILED, reason="nothing is compiled")
def test_compiled_code_of_long_ago_is_deleted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TIDEGAUGE_CACHE_DIR", str(tmp_path))
    old, recent, foreign = tmp_path / "rules-old", tmp_path / "rules-recent", tmp_path / "mine"
    for folder in (old, recent, foreign):
        folder.mkdir()
    for folder in (old, foreign):
        os.utime(folder, (0, 0))
    compiled.compile_all()
    assert {folder.name for folder in tmp_path.iterdir()} == {
        "rules-recent",
        "mine",
        compiled.cache_folder().name,
    }


def test_the_cache_can_be_put_elsewhere(tmp_path: Path) -> None:
    folder = cache_folder_of(HOUSE, TIDEGAUGE_CACHE_DIR=str(tmp_path))
    assert Path(folder).parent == tmp_path
