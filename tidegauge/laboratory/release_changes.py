"""The differences between the jars of two releases of Kafka, as far as they concern Tidegauge.

``python -m tidegauge.laboratory.release_changes OLD NEW`` compares two folders of jars and prints
three lists (``docs/new-release.md`` says what to do with each):

classes    that a source of Tidegauge cites, and whose bytes differ: what to read
settings   names that are new, or gone, in the classes that define settings
log texts  that ``read-logs`` looks for, and that are new, or gone

A class is found by the name before the ``@`` of a citation: ``Partition.makeLeader@2.4.0``. Of its
nested classes each counts as the class itself. Bytes also differ where only the numbers of lines
moved: the lists are of what to look at, and not of what changed.

Names and texts are string constants of class files (JVM specification, 4.4). A text that is put
together has placeholders: those of the logger (``{}``), or of ``makeConcatWithConstants`` (the
character 1), which are written as those of the logger.
"""

import re
import struct
import sys
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple
from zipfile import BadZipFile, ZipFile

from tidegauge.compiled.errors import TidegaugeError
from tidegauge.real_cluster.logs.log_events import EVENT_LINES
from tidegauge.real_cluster.logs.partition_lines import PARTITION_LINES

_ROOT = Path(__file__).parents[2]
#: Folders of a checkout that are none of Tidegauge's sources.
_NO_SOURCES = (".venv", "build", "docs", "tests")
_CITED = re.compile(r"\b([A-Z]\w+)(?:\.\w+)?@\d")
_OF_KAFKA = ("org/apache/kafka/", "kafka/")
_SETTING = re.compile(rb"[a-z]+(?:[.][a-z0-9]+)+")
#: Classes that define settings: KafkaConfig, ReplicationConfigs, TopicConfig, ...
_DEFINES_SETTINGS = re.compile(r"Configs?\$?$")

_UTF8, _STRING, _LONG, _DOUBLE = 1, 8, 5, 6
#: Bytes of an entry of the constant pool behind its tag.
_ENTRY_BYTES = {3: 4, 4: 4, 5: 8, 6: 8, 7: 2, 8: 2, 9: 4, 10: 4, 11: 4, 12: 4} | {
    15: 3,
    16: 2,
    17: 4,
    18: 4,
    19: 2,
    20: 2,
}
_POOL_BEGINS = 8


class ReleaseChanges(NamedTuple):
    """The three lists; a name or text is True if it is new, False if it is gone."""

    #: Cited classes whose bytes differ, or that are in one release only, with the citing files.
    classes: dict[str, list[str]]
    settings: dict[str, bool]
    log_texts: dict[str, bool]

    def lines(self) -> Iterator[str]:
        """The lists as lines of text."""
        yield f"{len(self.classes)} classes that are cited differ:"
        for name, files in self.classes.items():
            yield f"  {name}: {', '.join(files)}"
        for title, found in (("names of settings", self.settings), ("log texts", self.log_texts)):
            yield f"{len(found)} {title} differ:"
            for text, is_new in found.items():
                yield f"  {'+' if is_new else '-'} {text}"


def changes_between(old: Path, new: Path, cited: Mapping[str, list[str]]) -> ReleaseChanges:
    """The differences between the jars in two folders.

    Args:
        old: the folder with the jars of one release.
        new: the folder with those of a later one.
        cited: names of classes, with the files that cite them.

    Raises:
        TidegaugeError: a folder has no jar with classes of Kafka, or one that cannot be read.
    """
    before, after = _classes_in(old), _classes_in(new)
    different = sorted(
        name for name in before.keys() | after.keys() if before.get(name) != after.get(name)
    )
    changed = {_simple_name(name) for name in different}
    return ReleaseChanges(
        {name: list(cited[name]) for name in sorted(changed & cited.keys())},
        _different_constants(before, after, different, _names_of_settings),
        _different_constants(before, after, different, _texts_of_logs),
    )


def cited_classes(root: Path = _ROOT) -> dict[str, list[str]]:
    """The names of Kafka's classes that sources cite with a release, and the citing files."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for file in sorted(root.rglob("*.py")):
        place = file.relative_to(root)
        if place.parts[0] not in _NO_SOURCES:
            for name in sorted(set(_CITED.findall(file.read_text(encoding="utf-8")))):
                found[name].append(str(place))
    return dict(found)


def _classes_in(folder: Path) -> dict[str, bytes]:
    """The content of all classes of Kafka in the jars of a folder, by their paths."""
    classes: dict[str, bytes] = {}
    for jar in sorted(folder.glob("*.jar")):
        try:
            with ZipFile(jar) as content:
                classes |= {
                    name.removesuffix(".class"): content.read(name)
                    for name in content.namelist()
                    if name.endswith(".class") and name.startswith(_OF_KAFKA)
                }
        except (OSError, BadZipFile) as error:
            raise TidegaugeError(f"{jar}: cannot be read: {error}") from error
    if not classes:
        raise TidegaugeError(f"{folder}: has no jar with classes of Kafka")
    return classes


def _simple_name(path: str) -> str:
    return path.rpartition("/")[2].partition("$")[0]


def string_constants(content: bytes) -> set[bytes]:
    """The string constants of a class file, in modified UTF-8."""
    (count,) = struct.unpack_from(">H", content, _POOL_BEGINS)
    texts: dict[int, bytes] = {}
    strings: list[int] = []
    place, number = _POOL_BEGINS + 2, 1
    while number < count:
        tag = content[place]
        if tag == _UTF8:
            (size,) = struct.unpack_from(">H", content, place + 1)
            texts[number] = content[place + 3 : place + 3 + size]
            place += 3 + size
        else:
            if tag == _STRING:
                strings.append(*struct.unpack_from(">H", content, place + 1))
            place += 1 + _ENTRY_BYTES[tag]
        # Eight bytes take two numbers.
        number += 2 if tag in (_LONG, _DOUBLE) else 1
    return {texts[each] for each in strings}


def _names_of_settings(path: str, content: bytes) -> set[bytes]:
    if not _DEFINES_SETTINGS.search(_simple_name(path)):
        return set()
    return {each for each in string_constants(content) if _SETTING.fullmatch(each)}


_LINES = [each.line for each in EVENT_LINES] + [each.line for each in PARTITION_LINES]
_READ = re.compile(b"|".join(sorted({line.opening.words for line in _LINES})))
#: In texts about settings, and in no line of a log.
_MARKUP = b"<code>"


def _texts_of_logs(_: str, content: bytes) -> set[bytes]:
    found = {each for each in string_constants(content) if _READ.search(each)}
    return {each.replace(b"\x01", b"{}") for each in found if _MARKUP not in each}


def _different_constants(
    before: Mapping[str, bytes],
    after: Mapping[str, bytes],
    different: Collection[str],
    chosen: Callable[[str, bytes], set[bytes]],
) -> dict[str, bool]:
    """The chosen constants that one release alone has, and whether it is the later one."""
    old = {each for name in different if name in before for each in chosen(name, before[name])}
    new = {each for name in different if name in after for each in chosen(name, after[name])}
    return {each.decode(errors="replace"): each in new for each in sorted(old ^ new)}


def _main(arguments: list[str]) -> None:
    try:
        old, new = map(Path, arguments)
    except ValueError:
        sys.exit("give two folders of jars: OLD NEW")
    try:
        found = changes_between(old, new, cited_classes())
    except TidegaugeError as error:
        sys.exit(str(error))
    sys.stdout.writelines(f"{line}\n" for line in found.lines())


if __name__ == "__main__":
    _main(sys.argv[1:])
