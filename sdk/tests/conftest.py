# SPDX-License-Identifier: Apache-2.0
"""A place for made-up distributions, which the tests of plugins and of commands share."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import samebytes as sb

_HEADER = """\
from samebytes import Context, CpuTensor, Device, Frame, MemoryMapper, Storage, Transfer
from samebytes.plugins import *

PLUGIN = Plugin(api=API, summary="made up")
"""


class Site:
    """A folder on sys.path; samebytes finds what is installed here."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def module(self, name: str, code: str) -> None:
        """Write a module."""
        (self.path / f"{name}.py").write_text(code)

    def distribution(
        self, name: str, entry_points: str, version: str = "1.5", *, metadata: str | None = None
    ) -> Path:
        """Write the files that pip leaves of a distribution, and return its .dist-info folder."""
        folder = self.path / f"{name.replace('-', '_')}-{version}.dist-info"
        folder.mkdir()
        if metadata is None:
            metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        (folder / "METADATA").write_text(metadata)
        (folder / "entry_points.txt").write_text(entry_points)
        return folder

    def plugin(
        self, name: str, code: str = "", *, header: str = _HEADER, version: str = "1.5"
    ) -> None:
        """Install a plugin whose module is the header and then the code."""
        self.module(f"{name}_plugin", header + code)
        self.distribution(f"{name}-dist", f"[samebytes.plugins]\n{name} = {name}_plugin\n", version)
        sb.refresh()

    def command(self, name: str, code: str) -> None:
        """Install a command of the `samebytes` program."""
        self.module(f"{name}_command", code)
        self.distribution(f"{name}-dist", f"[samebytes.commands]\n{name} = {name}_command\n")

    def python_alone(self, code: str, *extras: str) -> str:
        """The output of code in an interpreter that has only samebytes and this site.

        Args:
            code: the code to run.
            extras: the extras that samebytes offers there.
        """
        fields = "".join(f"Provides-Extra: {extra}\n" for extra in extras)
        metadata = f"Metadata-Version: 2.1\nName: samebytes\nVersion: 1.5\n{fields}"
        self.distribution("samebytes", "", metadata=metadata)
        only = "import sys, numpy, pluggy, importlib_metadata, samebytes as sb\n"
        only += 'sys.path[:] = [place for place in sys.path if "-packages" not in place]\n'
        done = self.python("-c", only + code)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def python(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """Run a fresh interpreter that finds this site."""
        return subprocess.run(
            [sys.executable, *arguments],
            env={**os.environ, "PYTHONPATH": str(self.path), **environment},
            capture_output=True,
            text=True,
            check=False,
        )


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    for variable in ("SAMEBYTES_PLUGINS", "SAMEBYTES_DISABLE", "SAMEBYTES_STRICT"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # modules are rewritten within a second
    monkeypatch.syspath_prepend(tmp_path)
    sb.refresh()
    yield Site(tmp_path)
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", None)).startswith(str(tmp_path)):
            del sys.modules[name]
    monkeypatch.undo()
    sb.refresh()
