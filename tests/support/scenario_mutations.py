"""Scenario files as they should not be: those that come along, made wrong in a thousand ways.

Four kinds of mutants. *Bent* ones are a scenario's content with one to three values exchanged,
lost, renamed or moved, written as YAML again. *Strange* ones are right, most of them, but nobody
would want such a cluster. *Planned* ones are wrong in a way that is known, and so is the field
that has to be named. *Odd* ones are text: YAML that is none, or that is more than one expects. A
seed makes a mutant, and makes the same one again.
"""

from __future__ import annotations

import copy
import datetime as dt
import random
import re
from collections.abc import Callable
from typing import Any, NamedTuple

import yaml

from tidegauge.replication.release_versions import ZOOKEEPER_MODE, all_releases
from tidegauge.scenario.model.costs import Costs, Network
from tidegauge.scenario.model.kafka_setting_names import KAFKA_NAMES
from tidegauge.scenario.model.settings import NAMES
from tidegauge.scenario.shipped import shipped_scenarios

#: Keys and indexes from the top of a file.
Place = tuple[Any, ...]


class Mutant(NamedTuple):
    """A file, and how it came about."""

    about: str
    content: bytes
    #: What an error has to name, if there has to be one.
    field: str | None = None


#: What comes along; thousands of partitions would only cost time here.
SOUND = {
    name: re.sub(r"partitions: \d{4,}", "partitions: 60", file.read_text())
    for name, file in shipped_scenarios().items()
}

ODD_VALUES: list[Any] = [
    *(None, True, False, 0, 1, -1, 7, 99, 2**31 - 1, 2**31, 2**63 - 1, 2**63, -(2**63) - 1),
    *(10**9, 10**12, 10**30, 10**99, 0.5, -0.0, 1e-300, 1e300, float("nan"), float("inf")),
    *("", " ", "x", "5", "no", "null", "2.6", "9.9", "all", "-1", "[/bold]", "a\nb", "ü", "\u202e"),
    *("0s", "-1s", "1us", "876000h", "1e9s", "9" * 30 + "s", "0.0000001us", "1 s", "250", "nan"),
    *("broker:1", "broker:-1", "rack:", "rack:zzz", "client:zzz", "controller:99", "zookeeper"),
    *([], {}, [[]], [None], [1, 1], {"a": 1}, {1: 2}, {None: None}, [[1], [1]], {"is": 1}),
    *(dt.date(2026, 1, 1), dt.datetime(2026, 1, 1, tzinfo=dt.UTC), b"\x00\xff", "x" * 5000, {1, 2}),
]


def places_of(content: Any, above: Place = ()) -> list[Place]:
    """Where there is anything in a content."""
    found: list[Place] = []
    if isinstance(content, dict):
        items = list(content.items())
    else:
        items = list(enumerate(content)) if isinstance(content, list) else []
    for key, value in items:
        found += [(*above, key), *places_of(value, (*above, key))]
    return found


def bent(dice: random.Random) -> Mutant:
    """The content of a scenario with some of it exchanged."""
    name = dice.choice(sorted(SOUND))
    content = yaml.safe_load(SOUND[name])
    told = []
    for _ in range(dice.choice((1, 1, 1, 2, 3))):
        places = places_of(content)
        if not places:
            break
        place = dice.choice(places)
        bend = dice.choice(_BENDS)
        told.append(f"{bend.__name__} {place}")
        above = content
        for key in place[:-1]:
            above = above[key]
        bend(dice, content, above, place[-1])
    return Mutant(f"{name}: {', '.join(told)}", written(content))


def written(content: object) -> bytes:
    """A content as YAML, without aliases and in its order."""
    return yaml.safe_dump(content, sort_keys=False, allow_unicode=True).encode()


def _exchange(dice: random.Random, _: Any, above: Any, key: Any) -> None:
    above[key] = copy.deepcopy(dice.choice(ODD_VALUES))


def _lose(_: random.Random, __: Any, above: Any, key: Any) -> None:
    del above[key]


def _rename(dice: random.Random, _: Any, above: Any, key: Any) -> None:
    if isinstance(above, dict):
        text = str(key)
        cut = dice.randrange(len(text))
        other = [text[:cut] + text[cut + 1 :], text + "s", text.upper(), 5, None, -1, ""]
        above[dice.choice(other)] = above.pop(key)


def _add(dice: random.Random, content: Any, above: Any, key: Any) -> None:
    value = copy.deepcopy(dice.choice([*ODD_VALUES, content]))
    if isinstance(above, list):
        above.insert(key, value)
    else:
        above[dice.choice(("extra", "at", "for", "name", 7, "log.retention.hours"))] = value


def _repeat(_: random.Random, __: Any, above: Any, key: Any) -> None:
    if isinstance(above, list):
        above.append(copy.deepcopy(above[key]))


def _wrap(_: random.Random, __: Any, above: Any, key: Any) -> None:
    above[key] = [above[key]]


def _spell(_: random.Random, __: Any, above: Any, key: Any) -> None:
    above[key] = str(above[key])


def _scale(dice: random.Random, _: Any, above: Any, key: Any) -> None:
    factor = dice.choice((-1, 10, 1000, 10**6, 10**9, 10**15))
    value = above[key]
    if isinstance(value, int | float):
        above[key] = value * factor
    elif isinstance(value, str) and value[:1].isdigit():
        above[key] = str(factor) + value


def _swap(dice: random.Random, content: Any, above: Any, key: Any) -> None:
    others = list(content)
    if others:
        above[key] = copy.deepcopy(content[dice.choice(others)])


_BENDS: list[Callable[[random.Random, Any, Any, Any], None]] = [
    *(_exchange, _exchange, _exchange, _exchange, _lose, _lose, _rename),
    *(_add, _repeat, _wrap, _spell, _scale, _scale, _swap),
]

_DURATIONS = ("1us", "3us", "1ms", "499ms", "7s", "1h", "10000h")
_NUMBERS = (1, 2, 3, 10, 1999, 2000, 2001, 10_000, 10**6, 2**31 - 1)
_COSTS = [field.alias or name for name, field in Costs.model_fields.items()]
_LINKS = [field.alias or name for name, field in Network.model_fields.items()]


def strange(dice: random.Random) -> Mutant:
    """The content of a scenario in a world that is like no other."""
    name = dice.choice(sorted(SOUND))
    content = yaml.safe_load(SOUND[name])
    told = []
    for _ in range(dice.choice((1, 2, 4))):
        change = dice.choice(_WORLDS)
        told.append(change.__name__)
        change(dice, content)
    return Mutant(f"{name}: {', '.join(told)}", written(content))


def _other_cost(dice: random.Random, content: Any) -> None:
    content.setdefault("costs", {})[dice.choice(_COSTS)] = dice.choice(_DURATIONS)


def _other_link(dice: random.Random, content: Any) -> None:
    content.setdefault("network", {})[dice.choice(_LINKS)] = dice.choice(_DURATIONS)


def _other_setting(dice: random.Random, content: Any) -> None:
    settings = content["cluster"].setdefault("settings", {})
    name = dice.choice([*NAMES["brokers"], *sorted(KAFKA_NAMES["brokers"])])
    settings[name] = dice.choice((*_NUMBERS, True, False))


def _other_release(dice: random.Random, content: Any) -> None:
    content["release"] = str(dice.choice(all_releases(ZOOKEEPER_MODE)))


def _other_load(dice: random.Random, content: Any) -> None:
    for group in content.get("workload", {}).get("producers", ()):
        group["batches_per_second"] = dice.choice((1e-6, 0.5, 7, 1000))
        group["clients"] = dice.choice((1, 2, 30))
        group["settings"] = {"acks": dice.choice(("all", "0", "1")), "linger.ms": 5}


def _other_cluster(dice: random.Random, content: Any) -> None:
    content["cluster"] |= {
        "start_spread": dice.choice(_DURATIONS),
        "write_back": dice.choice(_DURATIONS),
        "restart_after_exit": dice.choice(("never", *_DURATIONS)),
    }
    content["zookeeper"] = {"tick_ms": dice.choice((1, 2000, 3_600_000))}
    content["seed"] = dice.choice((0, 2**63 - 1))


def _no_more(dice: random.Random, content: Any) -> None:
    for part in dice.sample(("faults", "steps", "workload"), 2):
        content.pop(part, None)


_WORLDS: list[Callable[[random.Random, Any], None]] = [
    *(_other_cost, _other_link, _other_setting, _other_setting, _other_release, _other_load),
    *(_other_cluster, _no_more),
]

_CLUSTER = "duration: 1m\nrelease: '2.6'\ncluster: {brokers: 3}\n"
_TOPIC = _CLUSTER + "topics: [{name: t, partitions: 2, replication_factor: 2}]\n"
_LOAD = _TOPIC + "workload: {producers: [{name: p, topics: [t], batches_per_second: 5%s}]}\n"
_HUGE_LOAD = _TOPIC + "workload: {producers: [{name: p, topics: [t], batches_per_second: %s}]}\n"
_FAULT = _CLUSTER + "faults: [{kind: %s}]\n"
_STEP = _TOPIC + "steps: [{%s}]\n"
_SETTING = "duration: 1m\nrelease: '2.6'\ncluster: {brokers: 3, settings: {%s}}\n"

#: Text that is wrong, and the field that has to be named.
PLANNED = [
    # There is no such thing.
    (_FAULT % "crash, at: 5s, brokers: [99]", "faults[0].brokers[0]"),
    (_FAULT % "crash, at: 5s, brokers: ['rack:none']", "faults[0].brokers[0]"),
    (_FAULT % "flood, at: 5s", "faults[0].kind"),
    (_FAULT % "cut_link, at: 5s, between: [[1], ['client:none']]", "faults[0].between[1][0]"),
    (_STEP % "at: 5s, do: produce, topic: t, partition: 2", "steps[0].partition"),
    (_STEP % "at: 5s, do: fetch, topic: u, partition: 0, offset: 0", "steps[0].topic"),
    (_STEP % "at: 5s, do: begin_fault, fault: none", "steps[0].fault"),
    (_TOPIC.replace("name: t,", "name: t, assignment: {0: [1], 1: [9]},"), "topics[0].assignment"),
    (_LOAD.replace("topics: [t]", "topics: [u]") % "", "workload.producers[0].topics[0]"),
    (_CLUSTER + "zookeeper: {rack: none}\n", "zookeeper.rack"),
    # It is too many, too late, too long.
    (_TOPIC.replace("factor: 2", "factor: 4"), "topics[0].replication_factor"),
    (_TOPIC.replace("factor: 2", "factor: 16"), "topics[0].replication_factor"),
    (_TOPIC.replace("partitions: 2", "partitions: 1000000000"), "topics[0].partitions"),
    (_TOPIC.replace("partitions: 2", "partitions: -2"), "topics[0].partitions"),
    (_FAULT % "pause, at: 61s, brokers: [1]", "faults[0].at"),
    (_STEP % "at: 2m, do: wait", "steps[0].at"),
    (_LOAD % ", clients: 1000000000", "workload.producers[0].clients"),
    (_LOAD % ", records_per_batch: 100000000", "workload.producers[0].records_per_batch"),
    (_HUGE_LOAD % "1e12", "workload.producers[0].batches_per_second"),
    (_HUGE_LOAD % "1.0e+12", "workload.producers[0].batches_per_second"),
    (_HUGE_LOAD % "1.0e-12", "workload.producers[0].batches_per_second"),
    (_HUGE_LOAD % ".nan", "workload.producers[0].batches_per_second"),
    (_HUGE_LOAD % ".inf", "workload.producers[0].batches_per_second"),
    (_HUGE_LOAD % "1000000", "workload.producers"),
    (_HUGE_LOAD.replace("1m", "10000h") % "1000000", "workload.producers"),
    (_CLUSTER.replace("1m", "876000h"), "duration"),
    (_CLUSTER.replace("3", "1000000000"), "cluster.brokers"),
    (_CLUSTER.replace("3", "2001"), "cluster.brokers"),
    (_CLUSTER.replace("3", "3, start_spread: 600h"), "cluster.start_spread"),
    (_CLUSTER + "zookeeper: {servers: 1000000000}\n", "zookeeper.servers"),
    (_CLUSTER + "seed: 9223372036854775808\n", "seed"),
    (_SETTING % "num.io.threads: 2147483647", "cluster"),
    (_SETTING % "num.replica.fetchers: 2147483647", "cluster"),
    (_SETTING % "num.io.threads: many", "cluster.settings[num.io.threads]"),
    (_SETTING % "min.insync.replicas: 0", "cluster.settings[min.insync.replicas]"),
    (_SETTING % "log.dirs: [a, b]", "cluster.settings[log.dirs]"),
    (_CLUSTER + "faults: [" + 1001 * "{kind: controller_move, at: 5s}," + "]\n", "faults"),
    # What YAML makes of it is something else.
    (_CLUSTER.replace("1m", "1:30"), "duration"),
    (_CLUSTER.replace("1m", "2026-01-01"), "duration"),
    (_CLUSTER.replace("1m", "!!binary MW0="), "duration"),
    (_CLUSTER.replace("3", "3, racks: [no, yes, off]"), "cluster.racks"),
    (_CLUSTER.replace("3", "!!str 3"), "cluster.brokers"),
    (_CLUSTER.replace("3", "0o3"), "cluster.brokers"),
    ("duration: 1m\ncluster: {brokers: 3}\nrelease: 2.6\n", "release"),
    (_CLUSTER + "name: no\n", "name"),
    (_CLUSTER + "no: 1\n", "False"),
    (_CLUSTER + "1: 1\n", "[1]"),
    (_CLUSTER + "~: 1\n", "None"),
    (_CLUSTER + "topics: {}\n", "topics"),
    (_CLUSTER + "topics: !!set {a, b}\n", "topics"),
    (_CLUSTER + "checks: {StrongIsr: true}\n", "checks"),
    (_CLUSTER + 'name: "a\\nb"\n', "name"),
]


def planned(dice: random.Random) -> Mutant:
    """A scenario that is wrong in a way that is known."""
    text, field = dice.choice(PLANNED)
    return Mutant(text, text.encode(), field)


def _with_line(dice: random.Random, text: str, line: str) -> str:
    lines = text.splitlines()
    lines.insert(dice.randrange(len(lines) + 1), line)
    return "\n".join(lines)


def _cut(dice: random.Random, text: str) -> str:
    return text[: dice.randrange(len(text))]


def _without_a_line(dice: random.Random, text: str) -> str:
    lines = text.splitlines()
    del lines[dice.randrange(len(lines))]
    return "\n".join(lines)


def _with_a_line_twice(dice: random.Random, text: str) -> str:
    return _with_line(dice, text, dice.choice(text.splitlines()))


def _with_noise(dice: random.Random, text: str) -> bytes:
    content = bytearray(text.encode())
    for _ in range(dice.choice((1, 1, 3, 20))):
        content[dice.randrange(len(content))] = dice.randrange(256)
    return bytes(content)


def _with_other_letters(dice: random.Random, text: str) -> str:
    place = dice.randrange(len(text))
    letter = dice.choice("\t\0\a:-[]{}&*!|>'\"%@`#,?~=<\u2028\ufeff\U0001f4a5")
    return text[:place] + letter + text[place:]


def _laughing(levels: int) -> str:
    lines = ["a0: &a0 [x, x]", *(f"a{n}: &a{n} [{9 * f'*a{n - 1}, '}]" for n in range(1, levels))]
    return "\n".join([*lines, f"topics: *a{levels - 1}", ""])


_ODDITIES: list[Callable[[random.Random, str], str | bytes]] = [
    *(_cut, _cut, _without_a_line, _with_a_line_twice, _with_noise, _with_noise),
    *(_with_other_letters, _with_other_letters, _with_other_letters),
    lambda _, text: text.replace("  ", "\t"),
    lambda _, text: text.encode("utf-16"),
    lambda _, text: text.encode("utf-8-sig"),
    lambda _, text: text.replace("\n", "\r\n"),
    lambda _, text: text.replace("\n", "\r"),
    lambda _, text: (text + "\n# ü").encode("latin-1", "replace"),
    lambda _, text: text + "\n---\n" + text,
    lambda _, text: "---\n" + text + "\n...\n",
    lambda _, text: "%YAML 1.2\n---\n" + text,
    lambda _, text: "%YAML 9.9\n---\n" + text,
    lambda _, text: text + "\n<<: {seed: 5}\n",
    lambda _, text: text + "\n<<: 5\n",
    lambda _, text: text + "\n<<: [{seed: 5}, {trace: all}]\n",
    lambda _, text: text + "\nseed: *nowhere\n",
    lambda _, text: text + "\nchecks: &me {me: *me}\n",
    lambda _, text: text + "\n? [a, b]\n: 1\n",
    lambda _, text: text + "\n? {a: b}\n: 1\n",
    lambda _, text: text + "\nchecks: !!python/object/apply:os.getcwd []\n",
    lambda _, text: text + "\nchecks: !!binary AAEC\n",
    lambda _, text: text + "\nchecks: !!bool perhaps\n",
    lambda _, text: text + "\nchecks: !!int ''\n",
    lambda _, text: text + "\nchecks: !!float ''\n",
    lambda _, text: text + "\nchecks: !!timestamp soon\n",
    lambda _, text: text + "\nchecks: !!omap [a: 1, b: 2]\n",
    lambda _, text: text + "\nchecks: 2026-13-45\n",
    lambda _, text: text + "\nchecks: 0x" + "f" * 9000 + "\n",
    lambda _, text: text + "\nchecks: " + "9" * 9000 + "\n",
    lambda _, text: text + '\nname: "\\ud800"\n',
    lambda _, text: text + '\nname: "\\x07[/red]"\n',
    lambda _, text: text + "\nname: " + "n" * 100_000 + "\n",
    lambda _, text: text + "\ndescription: " + "[" * 5_000 + "]" * 5_000 + "\n",
    lambda _, text: text + "\nchecks: " + "{a: " * 300 + "}" * 300 + "\n",
    lambda _, text: text + "\nchecks:\n" + "".join(" " * n + "a:\n" for n in range(1, 300)),
    lambda _, text: _laughing(10) + text,
    lambda _, text: _laughing(4) + text,
    lambda _, text: str(yaml.safe_load(text)),
    lambda dice, text: "[" + text.replace("\n", ",") + "]" * dice.randrange(3),
    *(lambda _, __, text=text: text for text in ("", "\n", "# nothing", "~", "5", "[]", "{}", "x")),
    lambda dice, _: dice.choice(("", "\n", "# nothing", "~", "5", "[]", "{}", "x", "'", "\0")),
    lambda dice, _: dice.choice(("---\n---\n", "- a\n- b", "\ufeff", "no", "2026-01-01")),
]


def odd(dice: random.Random) -> Mutant:
    """A scenario's text made into something else."""
    name = dice.choice(sorted(SOUND))
    number = dice.randrange(len(_ODDITIES))
    content = _ODDITIES[number](dice, SOUND[name])
    return Mutant(
        f"oddity {number} of {name}", content if isinstance(content, bytes) else content.encode()
    )


def mutant(seed: int) -> Mutant:
    """The mutant of this seed."""
    dice = random.Random(seed)  # noqa: S311  # nothing here is a secret
    return dice.choices((bent, strange, planned, odd), (5, 2, 1, 2))[0](dice)
