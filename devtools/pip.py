# SPDX-License-Identifier: Apache-2.0
"""Runs of pip that count the downloaded bytes, and report a failure in one line."""

import json
import os
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

from devtools.venv import PYTHON
from devtools.workspace import ROOT, CommandError

LOG = ROOT / "build" / "logs" / "set-up.log"

_INSTALL = (
    *("-m", "pip", "install", "--disable-pip-version-check", "--progress-bar=off"),
    "--no-compile",  # tests import only a small part of most packages
)
_DOWNLOAD = re.compile(r"Downloading (?P<name>\S+) \((?P<size>[\d.]+) (?P<unit>bytes|[kMG]B)\)")
_BYTES = {"bytes": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9}
# Smaller files would hide the ones that take the time.
_WORTH_A_LINE = 5e6
# The prefixes with which pip, or Python under it, begins a line that gives a cause.
_ERROR = re.compile(r"\s*(?:ERROR|error|[\w.]+Error): (?P<reason>.+)")
_SAYS_NOTHING = re.compile(
    r"subprocess-exited-with-error|metadata-generation-failed|Failed to build"
)
_GPU_PACKAGE = re.compile(r"(nvidia|cuda|triton)", re.IGNORECASE)


def into(python: Path) -> list[str | Path]:
    """The command that installs into the venv of `python`, which has no pip of its own."""
    return [PYTHON, "-m", "pip", "--python", python, *_INSTALL[2:]]


def install(words: Sequence[str | Path]) -> float:
    """Run `pip install` for .venv, and return the bytes that it downloaded.

    Large downloads are shown as they start. The output is appended to LOG; if pip fails, one line
    of it becomes a CommandError.
    """
    command = [str(word) for word in (PYTHON, *_INSTALL, *words)]
    # A user's pip.conf may ask for --user, which no venv can have.
    environment = os.environ | {"PIP_USER": "0"}
    downloaded, reasons, last = 0.0, list[str](), "pip gave no reason"
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
            log.write(line)
            last = line.strip() or last
            if found := _ERROR.match(line):
                reasons.append(found["reason"])
            if found := _DOWNLOAD.search(line):
                size = float(found["size"]) * _BYTES[found["unit"]]
                downloaded += size
                if size >= _WORTH_A_LINE:
                    print(f"  {found['name']}, {size / 1e6:.0f} MB", flush=True)
    if process.returncode:
        informative = [reason for reason in reasons if not _SAYS_NOTHING.search(reason)]
        raise CommandError((informative or reasons or [last])[-1])
    return downloaded


def why_no_torch(requirements: Sequence[str]) -> str | None:
    """The reason why torch must be left out of .venv, or None. pip downloads nothing to answer.

    A build with CUDA would be gigabytes.
    https://pip.pypa.io/en/stable/reference/installation-report/ describes the report.
    """
    command = [str(PYTHON), *_INSTALL, "--quiet", "--dry-run", "--report", "-", *requirements]
    answer = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if answer.returncode:
        lines = answer.stderr.strip().splitlines() or ["it gave no reason"]
        return f"pip finds no build of it here: {lines[-1]}"
    names = [item["metadata"]["name"] for item in json.loads(answer.stdout)["install"]]
    gpu = sorted(name for name in names if _GPU_PACKAGE.match(name))
    if not gpu:
        return None
    return (
        f"pip would bring a GPU build ({len(gpu)} packages such as {gpu[0]}); "
        "to have it, point pip at a CPU build (PIP_EXTRA_INDEX_URL, PIP_FIND_LINKS)"
    )
