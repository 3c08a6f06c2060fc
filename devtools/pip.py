# SPDX-License-Identifier: Apache-2.0
"""pip, run so that one line says why it failed and what it took from where is counted."""

import os
import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from devtools.venv import PYTHON
from devtools.workspace import ROOT

INSTALL = ("-m", "pip", "install", "--disable-pip-version-check", "--progress-bar=off")

_DOWNLOAD = re.compile(r"Downloading (?P<name>\S+) \((?P<size>[\d.]+) (?P<unit>bytes|[kMG]B)\)")
# Of a folder with an index, or of --find-links; a folder with sources has no such name.
_FROM_DISK = re.compile(r"Processing (?P<path>/.+?\.(?:whl|tar\.gz|zip))(?: \(from .+\))?$")
_BYTES = {"bytes": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9}
# Smaller files would only hide which ones take the time.
_WORTH_A_LINE = 5e6
_LAST_LINES = 25
LOG = ROOT / "build" / "logs" / "set-up.log"
# How pip, or Python under it, begins a line that gives a cause; the last one that says more than
# "it failed" is shown.
_ERROR = re.compile(r"\s*(?:ERROR|error|[\w.]+Error): (?P<reason>.+)")
_SAYS_NOTHING = re.compile(
    r"subprocess-exited-with-error|metadata-generation-failed|Failed to build"
)


@dataclass(frozen=True)
class Installed:
    """The outcome of a run of pip: the reason why it failed, or None.

    `downloaded` is what it downloaded, in bytes, and `from_disk` what it took from folders of this
    machine, which another machine would have to download. `last_lines` are those of its output.
    """

    reason: str | None
    downloaded: float
    last_lines: str = ""
    from_disk: float = 0


def into(python: Path) -> list[str | Path]:
    """The command that installs into the venv of `python`, which has no pip of its own.

    It compiles nothing: of most packages tests import a small part.
    """
    _, module, *words = INSTALL
    return [PYTHON, "-m", module, "--python", python, *words, "--no-compile"]


def install(python: Path, words: Sequence[str | Path]) -> Installed:
    """Run `pip install` for the venv of `python`; large downloads are shown as they start.

    Its output goes to the end of LOG.
    """
    command = [str(word) for word in (python, *INSTALL, *words)]
    # A user's pip.conf may ask for --user, which no venv can have.
    environment = os.environ | {"PIP_USER": "0"}
    lines: list[str] = []
    downloaded = from_disk = 0.0
    LOG.parent.mkdir(parents=True, exist_ok=True)
    with (
        LOG.open("a") as log,
        subprocess.Popen(
            command,
            cwd=ROOT,
            env=environment,
            text=True,
            errors="replace",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        ) as process,
    ):
        assert process.stdout
        print("$", *command, file=log, flush=True)
        for line in process.stdout:
            lines.append(line.rstrip())
            log.write(line)
            size, name = download(line)
            downloaded += size
            from_disk += taken_from_disk(line)
            if size >= _WORTH_A_LINE:
                print(f"  {name}, {size / 1e6:.0f} MB", flush=True)
    reason = reason_of(lines) if process.returncode else None
    return Installed(reason, downloaded, "\n".join(lines[-_LAST_LINES:]), from_disk)


def download(line: str) -> tuple[float, str]:
    """The size in bytes and the file's name, if this line of pip's announces a download."""
    found = _DOWNLOAD.search(line)
    if not found:
        return 0.0, ""
    return float(found["size"]) * _BYTES[found["unit"]], found["name"].rpartition("/")[2]


def taken_from_disk(line: str) -> int:
    """The size in bytes of the published file that this line of pip's takes from a folder, or 0."""
    found = _FROM_DISK.match(line.strip())
    path = Path(found["path"]) if found else None
    return path.stat().st_size if path and path.is_file() else 0


def reason_of(lines: Sequence[str]) -> str:
    """The reason why pip failed, in one of its own lines."""
    errors = [match["reason"] for line in lines if (match := _ERROR.match(line))]
    informative = [error for error in errors if not _SAYS_NOTHING.search(error)]
    last = [line.strip() for line in lines if line.strip()][-1:]
    return next(iter([*informative[-1:], *errors[-1:], *last]), "pip gave no reason")
