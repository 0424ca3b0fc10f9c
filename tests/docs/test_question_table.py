"""The table of questions in docs/analysis.md is that of ``tidegauge analyze --questions``."""

from __future__ import annotations

import re
from pathlib import Path

from tidegauge.analysis.questions.all_questions import QUESTIONS

PAGE = Path(__file__).resolve().parents[2] / "docs" / "analysis.md"


def test_the_page_has_every_question_in_its_own_words() -> None:
    rows = re.findall(r"^\| `([a-z-]+)` \| (.*\?) \|$", PAGE.read_text(), re.MULTILINE)
    assert dict(rows) == {name: each.asks for name, each in QUESTIONS.items()}
