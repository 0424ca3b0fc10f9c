"""The project works in any folder: no file of it names a path of one machine."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

#: Folders in which checkouts and caches of one machine lie. Put together here, so that this
#: file does not contain them.
NEEDLES = [f"/{folder}/".encode() for folder in ("work", "root")]


def machine_paths(content: bytes) -> list[bytes]:
    """The lines of a file's content that name a path of one machine."""
    return [line for line in content.splitlines() if any(needle in line for needle in NEEDLES)]


def test_no_file_names_a_path_of_one_machine() -> None:
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=False,
    )
    if listing.returncode != 0:
        pytest.skip("not a git checkout: no list of the project's files")
    files = [ROOT / name for name in listing.stdout.decode().split("\0") if name]
    assert Path(__file__).resolve() in files
    found = {
        str(file.relative_to(ROOT)): lines
        for file in files
        if file.is_file() and (lines := machine_paths(file.read_bytes()))
    }
    assert found == {}


@pytest.mark.parametrize("needle", NEEDLES)
def test_a_path_of_one_machine_is_found(needle: bytes) -> None:
    line = b"data = read('" + needle + b"data.json')"
    assert machine_paths(b"import json\n" + line + b"\nprint(data)") == [line]


def test_other_paths_are_not_found() -> None:
    assert machine_paths(b"/opt/kafka/bin\nhomework/1\nroots/2\n\xff\xfe") == []
