# SPDX-License-Identifier: Apache-2.0
"""Suites of the kit run on a toy package with one fault at a time, in a process of their own."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

__all__ = ["Outcome", "Outcomes", "trying"]

_TOY = Path(__file__).parent / "toy"


class Outcome(NamedTuple):
    """The exit status and the output of pytest after it ran the suites with a fault."""

    status: int
    output: str

    @property
    def failed(self) -> set[str]:
        """The names of the tests that failed."""
        return set(re.findall(r"^(?:FAILED|ERROR) .*?::\w+::(\w+)", self.output, re.MULTILINE))


class Outcomes:
    """The outcome of each fault. The process tries them one by one, while the tests wait.

    A test waits for its own fault: all together take minutes on a busy machine, and a test that
    takes so long counts as one that hangs.
    """

    def __init__(self, process: subprocess.Popen[str], errors: Path) -> None:
        self._process = process
        self._errors = errors
        self._found: dict[str, Outcome] = {}

    def of(self, fault: str) -> Outcome:
        """The outcome of a fault, once it was tried."""
        assert self._process.stdout is not None
        while fault not in self._found:
            line = self._process.stdout.readline()
            assert line, self._errors.read_text()
            name, status, output = json.loads(line)
            self._found[name] = Outcome(status, output)
        return self._found[fault]


@contextmanager
def trying(
    name: str, selections: Mapping[str, str], folder: Path, **variables: str
) -> Iterator[Outcomes]:
    """Try the faults on the toy package of a name, in a folder, as a distribution of that name.

    `selections` has pytest's expression for each fault: the tests that run with it.
    """
    shutil.copytree(_TOY, folder, dirs_exist_ok=True)
    metadata = folder / f"{name}-1.5.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.5\n")
    (metadata / "entry_points.txt").write_text(f"[samebytes.plugins]\n{name} = {name}_plugin\n")
    errors = folder / "errors.txt"
    # Behind it, where this samebytes itself was found.
    path = os.pathsep.join(filter(None, [str(folder), os.environ.get("PYTHONPATH")]))
    script = [sys.executable, str(folder / "run_faults.py"), f"{name}_suites.py"]
    with (
        errors.open("w") as stderr,
        subprocess.Popen(
            [*script, json.dumps(selections)],
            env={**os.environ, "PYTHONPATH": path, **variables},
            stdout=subprocess.PIPE, stderr=stderr, text=True,
        ) as process,
    ):  # fmt: skip
        try:
            yield Outcomes(process, errors)
        finally:
            process.kill()  # where not every fault was asked for
