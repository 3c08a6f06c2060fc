# SPDX-License-Identifier: Apache-2.0
"""`samebytes check-plugin` finds nothing in the plugins of this repository.

A plugin whose devices are missing is checked without them: what it does on software devices shows with
`pytest --softdevices=gpu,npu,vaapi,cuda`.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from importlib.metadata import entry_points
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
GROUP = "samebytes.plugins"


def shipped() -> list[str]:
    """The names of the plugins that the distributions here declare, and the core's own."""
    names = ["cpu"]
    for path in sorted(ROOT.glob("**/pyproject.toml")):
        folders = path.relative_to(ROOT).parts[:-1]
        if any(folder.startswith(".") or folder in ("build", "dist") for folder in folders):
            continue
        project = tomllib.loads(path.read_text()).get("project", {})
        names += project.get("entry-points", {}).get(GROUP, {})
    return names


@pytest.mark.parametrize("plugin", shipped())
def test_it_passes(plugin: str) -> None:
    if plugin != "cpu" and plugin not in entry_points(group=GROUP).names:
        pytest.skip(f"missing package: the one with the plugin {plugin}")
    # Machines that are busy take longer than the command allows; no rule is about time.
    command = ["check-plugin", plugin, "--json", "--timeout", "600"]
    done = subprocess.run(
        [sys.executable, "-m", "samebytes", *command],
        capture_output=True,
        text=True,
        check=False,
    )
    report = json.loads(done.stdout)
    failed = [f for f in report["findings"] if f["outcome"] == "failed"]
    assert failed == []
    assert done.returncode == 0
    assert any(f["outcome"] == "passed" for f in report["findings"])


def test_all_plugins_are_found() -> None:
    assert {"cpu", "ffmpeg", "openvino", "opencl", "mappers", "gstreamer"} <= set(shipped())
