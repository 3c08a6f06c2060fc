# SPDX-License-Identifier: Apache-2.0
"""Commands whose output is shown and kept."""

import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Ended:
    """A command that ended: its status and its output's lines."""

    status: int
    lines: Sequence[str]

    @property
    def last_line(self) -> str:
        """The last line that is not empty."""
        return next((line for line in reversed(self.lines) if line.strip()), "no output")


def shown(
    command: Sequence[str | Path], *, cwd: Path | None = None, env: Mapping[str, str] | None = None
) -> Ended:
    """Run a command without input, its output and errors on this terminal as they come."""
    lines = []
    with subprocess.Popen(
        command,
        cwd=cwd,
        env=env,
        text=True,
        errors="replace",
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    ) as process:
        assert process.stdout
        try:
            for line in process.stdout:
                lines.append(line.rstrip("\n"))
                print(f"| {lines[-1]}", flush=True)
        except BaseException:
            process.kill()
            raise
    return Ended(process.returncode, lines)
