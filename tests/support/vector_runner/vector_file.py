"""Reading a file of vectors."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SCHEMA_VERSION = 1
REQUIRED = {"id", "source_test", "tag", "basis", "area", "applies_to", "given", "steps", "expect"}


@dataclass(frozen=True, slots=True)
class VectorFile:
    """The vectors of one file."""

    path: Path
    vectors: tuple[dict[str, Any], ...]
    #: How many vectors of each area the file says that it has; empty if it does not say.
    stated: dict[str, int]

    def per_area(self) -> Counter[str]:
        """How many vectors each area has."""
        return Counter(vector["area"] for vector in self.vectors)


def load_vectors(path: Path) -> VectorFile:
    """Read a file of vectors.

    Raises:
        ValueError: the file is not one; the message names the file and the fault.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ValueError(f"{path}: cannot be read as vectors: {error}") from error
    if not isinstance(content, dict) or not isinstance(content.get("vectors"), list):
        raise ValueError(f"{path}: has no list of vectors")
    if content.get("schema_version") != SCHEMA_VERSION:
        raise ValueError(
            f"{path}: schema_version is {content.get('schema_version')!r}, not {SCHEMA_VERSION}"
        )
    vectors = content["vectors"]
    for index, vector in enumerate(vectors):
        missing = REQUIRED - set(vector)
        if missing:
            raise ValueError(f"{path}: vector {index} lacks {sorted(missing)}")
    ids = Counter(vector["id"] for vector in vectors)
    repeated = sorted(name for name, count in ids.items() if count > 1)
    if repeated:
        raise ValueError(f"{path}: these ids are used more than once: {repeated}")
    return VectorFile(path, tuple(vectors), content.get("counts") or {})
