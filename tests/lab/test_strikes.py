# SPDX-License-Identifier: Apache-2.0
"""Strikes at random moments where the CPU's access to a DMA-BUF begins and ends.

Only memory of a kernel's heaps has such accesses: `dev.py faults --random` does not reach them
without one. For as long as one likes:

    SAMEBYTES_STRIKE_SECONDS=300 python3 dev.py lab tests/lab/test_strikes.py -s
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from tests.faults.sites import names_of_sites

pytestmark = pytest.mark.dmabuf

ROOT = Path(__file__).resolve().parents[2]
_BEGIN = "acquire: samebytes_dma._cpu_access:begin_access"
_END = "release: samebytes_dma._cpu_access:end_accesses"


def test_the_cpus_access_is_struck(capfd: pytest.CaptureFixture[str]) -> None:
    """Nothing is lost, held or wrong afterwards. What leaks ends with the child."""
    seconds = os.environ.get("SAMEBYTES_STRIKE_SECONDS", "6")
    aimed_at = {name: 0 if name in (_BEGIN, _END) else 10**6 for name in names_of_sites()}
    struck = Counter[str]()
    first = random.randrange(10**6)
    # In one of five runs calls fail besides, and a guest may be slow.
    for seed in range(first, first + 5):
        command = [sys.executable, "-m", "tests.faults", "--strike", "map dma", "--random", seconds]
        command += ["--seed", str(seed), "--before", json.dumps(aimed_at)]
        child = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        assert not child.returncode, f"{command}\n{child.stdout}\n{child.stderr}"
        (said,) = [line for line in child.stdout.splitlines() if line.startswith('{"name"')]
        found = json.loads(said)
        struck.update(found["sites"])
        with capfd.disabled():
            sys.stdout.write(f"{found['strikes']} strikes, {found['leaked']} leaked: {struck}\n")
        if struck[_BEGIN] and struck[_END]:
            return
    pytest.fail(f"not struck: {struck}")
