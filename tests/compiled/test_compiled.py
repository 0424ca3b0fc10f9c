"""The decorator that compiles the rules, and the cache that it keeps them in."""

from __future__ import annotations

import dis
import os
import shutil
import subprocess
import sys
from graphlib import TopologicalSorter
from itertools import pairwise
from pathlib import Path
from types import FunctionType, ModuleType

import numpy as np
import pytest

from tidegauge.compiled import kept_code, rules
from tidegauge.compiled.compile_all import import_modules_of
from tidegauge.compiled.records import Record, Records, dtype_of, grown, new_record, new_records
from tidegauge.compiled.rules import RULES, Tables, code, inner_rule, rule, wrapped
from tidegauge.compiled.signatures import signature_of
from tidegauge.replication.records import Partition, RemoteReplica
from tidegauge.replication.release_rules import ReleaseRules

HOUSE = Path(rules.__file__).parent.parent


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


@pytest.mark.skipif(not rules.COMPILED, reason="plain Python calls what it likes")
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
    import_modules_of(rules.KERNEL_ROOMS)
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


def rules_named_by(function: FunctionType) -> set[FunctionType]:
    """The rules that a rule names, by themselves or in a module."""
    found: set[FunctionType] = set()
    for one, following in pairwise(dis.get_instructions(function)):
        if one.opname == "LOAD_GLOBAL":
            value = function.__globals__.get(one.argval)
            if isinstance(value, ModuleType):
                value = getattr(value, str(following.argval), None)
            named = getattr(value, "py_func", None)
            if named is not None:
                found.add(named)
    return found


@pytest.mark.skipif(not rules.COMPILED, reason="there is nothing compiled to look at")
def test_no_rule_calls_itself() -> None:
    """Kept code of a recursion names a symbol that no other process can link."""
    import_modules_of(rules.KERNEL_ROOMS)
    functions = [each.py_func for each in (*RULES, *rules.INNER_RULES)]  # type: ignore[attr-defined]
    assert len(functions) > 1_000
    TopologicalSorter({each: rules_named_by(each) for each in functions}).prepare()


COUNT_SIGNATURES = """
from tidegauge.commands.performing import import_kernel
from tidegauge.compiled.rules import INNER_RULES, RULES
from tidegauge.compiled.signatures import signature_of
import_kernel()
rules = [*RULES, *(each.inner.dispatcher for each in RULES + INNER_RULES)]
for each in RULES:
    each.compile(signature_of(each))
print([rule.py_func.__name__ for rule in rules if len(rule.signatures) > 1])
"""


@pytest.mark.skipif(not rules.COMPILED, reason="there is nothing compiled to look at")
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


def in_house(house: Path, program: str, **environment: str) -> str:
    """What a program prints that runs with the rooms of ``house``, in a process of its own."""
    begin = (
        "import sys, types, importlib; package = types.ModuleType('tidegauge')\n"
        f"package.__path__ = [{str(house)!r}]; sys.modules['tidegauge'] = package\n"
    )
    return subprocess.run(
        [sys.executable, "-c", begin + program],
        env=os.environ | environment,
        check=True,
        capture_output=True,
        text=True,
    ).stdout.strip()


def folder_of(house: Path, module: str, **environment: str) -> str:
    """Where the rules of a module of a house would be kept."""
    program = (
        "from tidegauge.compiled.kept_code import folder_of\n"
        f"importlib.import_module({module!r}); print(folder_of({module!r}))"
    )
    return in_house(house, program, **environment)


@pytest.fixture
def house(tmp_path: Path) -> Path:
    for room in ("compiled", *rules.KERNEL_ROOMS):
        folder = Path(*room.split("."))
        shutil.copytree(HOUSE / folder, tmp_path / "house" / folder, dirs_exist_ok=True)
    return tmp_path / "house"


def test_a_source_names_the_cache_of_all_that_it_can_end_up_in(house: Path) -> None:
    """Numba alone goes on using a rule whose callee in another file has changed."""
    user = "tidegauge.controller.partitions.partition_changes"
    before = folder_of(house, user)
    assert folder_of(house, user) == before
    elections = house / "controller" / "partitions" / "leader_and_isr.py"
    elections.write_text(elections.read_text() + "\n# changed\n")
    assert folder_of(house, user) != before


def test_a_source_leaves_the_cache_of_others_alone(house: Path) -> None:
    """Else each change to a scenario's model would cost a minute of compilation."""
    other = "tidegauge.replication.high_watermark"
    before = folder_of(house, other)
    elections = house / "controller" / "partitions" / "leader_and_isr.py"
    elections.write_text(elections.read_text() + "\n# changed\n")
    assert folder_of(house, other) == before


CALLEE = """
from tidegauge.compiled.rules import code, inner_rule
STEP = code(3)
@inner_rule
def stepped(value: int) -> int:
    return value + STEP
"""

CALLER = """
from tidegauge.replication.callee import stepped
from tidegauge.compiled.rules import rule
@rule
def stepped_twice(value: int) -> int:
    return stepped(stepped(value))
"""

STEP_TWICE = """
from tidegauge.replication.caller import stepped_twice
print(stepped_twice(1))
"""

COMPILE_CALLEE = """
from tidegauge.replication.callee import stepped
from tidegauge.compiled.signatures import signature_of
stepped.compile(signature_of(stepped))
"""


def write_two_rules(house: Path) -> None:
    (house / "replication" / "callee.py").write_text(CALLEE)
    (house / "replication" / "caller.py").write_text(CALLER)


def kept(cache: Path) -> dict[str, int]:
    """The files of compiled code, and when each was written."""
    return {
        f"{file.parent.name}/{file.name}": file.stat().st_mtime_ns
        for file in cache.glob("rules-*/*/*")
    }


@pytest.mark.skipif(not rules.COMPILED, reason="nothing is compiled")
def test_a_clone_at_another_path_finds_the_code_of_the_first(tmp_path: Path, house: Path) -> None:
    """The second clone of a commit used to compile the whole kernel once more."""
    cache = tmp_path / "cache"
    write_two_rules(house)
    clone = tmp_path / "clone" / "of" / "it"
    shutil.copytree(house, clone)
    assert in_house(house, STEP_TWICE, TIDEGAUGE_CACHE_DIR=str(cache)) == "7"
    before = kept(cache)
    assert {name.rpartition("/")[2] for name in before} == {"stepped.inner", "stepped_twice"}
    (clone / "replication" / "caller.py").touch()
    assert in_house(clone, STEP_TWICE, TIDEGAUGE_CACHE_DIR=str(cache)) == "7"
    assert kept(cache) == before


@pytest.mark.skipif(not rules.COMPILED, reason="nothing is compiled")
def test_a_rule_links_the_inner_rules_that_another_process_compiled(
    tmp_path: Path, house: Path
) -> None:
    cache = tmp_path / "cache"
    write_two_rules(house)
    in_house(house, COMPILE_CALLEE, TIDEGAUGE_CACHE_DIR=str(cache))
    callee = kept(cache)
    assert len(callee) == 1
    assert in_house(house, STEP_TWICE, TIDEGAUGE_CACHE_DIR=str(cache)) == "7"
    assert kept(cache).items() > callee.items()


@pytest.mark.skipif(not rules.COMPILED, reason="nothing is compiled")
def test_a_callee_that_has_changed_is_linked_in_its_new_form(tmp_path: Path, house: Path) -> None:
    cache = tmp_path / "cache"
    write_two_rules(house)
    assert in_house(house, STEP_TWICE, TIDEGAUGE_CACHE_DIR=str(cache)) == "7"
    (house / "replication" / "callee.py").write_text(CALLEE.replace("code(3)", "code(5)"))
    assert in_house(house, STEP_TWICE, TIDEGAUGE_CACHE_DIR=str(cache)) == "11"


CLAIM = """
from pathlib import Path
from tidegauge.compiled.kept_code import claimed
with claimed(Path(sys.argv[1])) as is_ours:
    print("claimed", flush=True)
    sys.stdin.readline()
"""


def test_a_function_is_claimed_by_one_process_at_a_time(tmp_path: Path) -> None:
    """Two processes that compile share the work; a claim ends with its process, killed or not."""
    file, other = tmp_path / "module-hash" / "rule", tmp_path / "module-hash" / "other_rule"
    with subprocess.Popen(
        [sys.executable, "-c", "import sys\n" + CLAIM, str(file)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "claimed\n"
        with kept_code.claimed(file, wait=False) as is_ours:
            assert not is_ours
        with kept_code.claimed(other, wait=False) as is_ours:
            assert is_ours
        process.kill()
    with kept_code.claimed(file, wait=False) as is_ours:
        assert is_ours


def test_code_with_checked_bounds_has_its_own_cache(house: Path) -> None:
    module = "tidegauge.replication.high_watermark"
    assert folder_of(house, module, TIDEGAUGE_BOUNDS_CHECK="1") != folder_of(house, module)


@pytest.mark.skipif(not rules.COMPILED, reason="nothing is compiled")
def test_compiled_code_of_long_ago_is_deleted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TIDEGAUGE_CACHE_DIR", str(tmp_path))
    old, recent, foreign = tmp_path / "rules-old", tmp_path / "rules-recent", tmp_path / "mine"
    for folder in (old, recent, foreign):
        folder.mkdir()
    for folder in (old, foreign):
        os.utime(folder, (0, 0))
    kept_code.forget_old_code([])
    assert {folder.name for folder in tmp_path.iterdir()} == {"rules-recent", "mine"}


def test_the_cache_can_be_put_elsewhere(tmp_path: Path) -> None:
    module = "tidegauge.replication.high_watermark"
    folder = folder_of(HOUSE, module, TIDEGAUGE_CACHE_DIR=str(tmp_path))
    assert Path(folder).parent.parent == tmp_path
