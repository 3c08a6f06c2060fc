# SPDX-License-Identifier: Apache-2.0
"""The advice to a user who may not open a device node."""

from __future__ import annotations

import grp
import os
from pathlib import Path

import pytest

from samebytes.plugins import advice_to_open

RENDER = next(group for group in grp.getgrall() if group.gr_gid)
NOBODYS = max(group.gr_gid for group in grp.getgrall() if group.gr_gid < 1 << 20) + 7


@pytest.mark.parametrize(
    ("gid", "mode", "advice"),
    [
        (RENDER.gr_gid, 0o660, f'sudo usermod -aG {RENDER.gr_name} "$USER"'),
        (RENDER.gr_gid, 0o600, "a udev rule that gives"),
        (0, 0o660, "a udev rule that gives"),
        (NOBODYS, 0o666, f"--group-add {NOBODYS}"),
    ],
)
def test_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, gid: int, mode: int, advice: str
) -> None:
    node = tmp_path / "renderD128"
    node.touch()
    node.chmod(mode)
    # Root alone can give a file away.
    real = node.stat()
    fields = [*real[:5], gid, *real[6:10]]
    monkeypatch.setattr(Path, "stat", lambda self: os.stat_result(fields))
    assert advice in advice_to_open(node)


def test_a_node_that_is_gone(tmp_path: Path) -> None:
    assert "usermod -aG render" in advice_to_open(str(tmp_path / "none"))
