# SPDX-License-Identifier: Apache-2.0
"""The image of samples/service, built and run by buildah, without Docker and without a registry.

Its base is a Debian made here, under the name of the one that the Dockerfile begins with.
"""

import json
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from devtools.fresh.root import CACHE, Root, unpacked, why_no_root
from devtools.fresh.terminal import Ended, shown
from devtools.results import Result
from devtools.workspace import ROOT, CommandError

__all__ = ["image"]

_SUITE = "trixie"  # it has the Python of the base
_BASE = "docker.io/library/python:3.13-slim"
_FILE = Path("samples", "service", "Dockerfile")
_STREET = "street"
# $1 is the health check, the rest the command. Both are the image's own.
_TRY = """
check=$1; shift
"$@" > /tmp/lines & service=$!
until sh -c "$check" 2> /dev/null; do kill -0 $service || exit 1; sleep 0.5; done
echo healthy
until [ -s /tmp/lines ]; do kill -0 $service || exit 1; sleep 0.5; done
kill -TERM $service; wait $service; status=$?
head -c 100 /tmp/lines; echo
echo ended with $status
exit $status
"""


class _Buildah:
    """buildah with images in a folder; its containers share the host's network."""

    def __init__(self, folder: Path) -> None:
        places = ["--root", str(folder / "root"), "--runroot", str(folder / "run")]
        self._words = ["buildah", *places]

    def run(self, *words: str | Path) -> Ended:
        """Run a command of it, whose output is shown."""
        return shown([*self._words, *words], cwd=ROOT)

    def answer(self, *words: str | Path) -> str:
        """Return what a command prints.

        Raises:
            CommandError: it failed.
        """
        done = subprocess.run(
            [*self._words, *words], capture_output=True, text=True, check=False, cwd=ROOT
        )
        if done.returncode:
            raise CommandError(f"buildah {words[0]}: {done.stderr.strip()}")
        return done.stdout.strip()


def image() -> list[Result]:
    """Build the image, and let its command run until it is healthy and SIGTERM ends it.

    Raises:
        CommandError: this machine lacks something for it.
    """
    reason = why_no_root()
    if reason is None and shutil.which("buildah") is None:
        reason = "buildah is missing: apt-get install buildah"
    if reason:
        raise CommandError(reason)
    began = time.monotonic()
    CACHE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="image-", dir=CACHE) as folder:
        buildah = _Buildah(Path(folder))
        with unpacked(_SUITE, "root") as root:
            _make_base(buildah, root)
        ended = buildah.run(
            "build", "--isolation", "chroot", "--pull-never", "--format", "docker", "--file", _FILE,
            "--tag", _STREET, ".",
        )  # fmt: skip
        if not ended.status:
            ended = _run(buildah, Path(folder))
    seconds = time.monotonic() - began
    return [Result("fresh image", not ended.status, f"{ended.last_line} ({seconds:.0f} s)")]


def _make_base(buildah: _Buildah, root: Root) -> None:
    root.install(["python3-venv"])
    root.run(["ln", "-s", "python3", "/usr/bin/python"])
    root.remove_checkout()
    container = buildah.answer("from", "scratch")
    buildah.answer("add", "--quiet", container, root.folder, "/")
    buildah.answer("commit", "--quiet", "--rm", container, _BASE)


def _run(buildah: _Buildah, folder: Path) -> Ended:
    toys = [folder / "door.mp4", folder / "detector.xml"]
    subprocess.run([sys.executable, ROOT / "samples" / "toy_inputs.py", *toys], check=True)
    container = buildah.answer("from", "--pull-never", _STREET)
    for toy in (*toys, folder / "detector.bin"):
        buildah.answer("add", "--quiet", container, toy, f"/models/{toy.name}")
    says = json.loads(buildah.answer("inspect", "--type", "image", _STREET))["Docker"]["config"]
    check: Sequence[str] = says["Healthcheck"]["Test"][1:]
    return buildah.run(
        "run", "--isolation", "chroot", "--env", "CAMERA=/models/door.mp4",
        "--env", "MODEL=/models/detector.xml", container, "--",
        "sh", "-c", _TRY, "sh", shlex.join(check), *says["Cmd"],
    )  # fmt: skip
