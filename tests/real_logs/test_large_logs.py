"""Logs of a gigabyte: read in less memory than they have, and at tens of megabytes a second."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.long

_BENCH = Path(__file__).parents[2] / "bench" / "logs.py"
#: Of two idle CPUs 50 and more; the CPUs of a machine that is shared have other work, too.
_LEAST_MB_PER_S = 20


@pytest.mark.parametrize("cluster", ["zk-2.6.3-rand312", "kraft-4.1.0-b1_leader_kill"])
def test_a_gigabyte_of_logs_is_read_within_a_gigabyte_of_memory(cluster: str) -> None:
    command = [sys.executable, str(_BENCH), cluster, "1000"]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    found = re.search(r"(\d+) MB/s +largest process +(\d+) MB", printed)
    assert found is not None, printed
    assert int(found[1]) >= _LEAST_MB_PER_S
    assert int(found[2]) < 1000
