# SPDX-License-Identifier: Apache-2.0
"""The image of samples/service, built and run by buildah, without Docker and without a registry.

Its base is a Debian made here, under the name of the one that the Dockerfile begins with.
"""

import json
import shlex
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from devtools.fresh.root import CACHE, Root, shown, unpacked, why_no_root
from devtools.results import Result
from devtools.workspace import ROOT, CommandError, capture, must

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
        place = Path(folder)
        buildah = ["buildah", "--root", f"{place}/root", "--runroot", f"{place}/run"]
        with unpacked(_SUITE, "root") as root:
            _make_base(buildah, root)
        ended = shown(
            [
                *(*buildah, "build", "--isolation", "chroot", "--pull-never"),
                *("--format", "docker", "--file", str(_FILE), "--tag", _STREET, "."),
            ]
        )
        if not ended.status:
            ended = shown([*buildah, *_words_to_run(buildah, place)])
    seconds = time.monotonic() - began
    return [Result("fresh image", not ended.status, f"{ended.last_line} ({seconds:.0f} s)")]


def _make_base(buildah: Sequence[str], root: Root) -> None:
    root.install(["python3-venv"])
    root.run(["ln", "-s", "python3", "/usr/bin/python"])
    root.remove_checkout()
    container = capture([*buildah, "from", "scratch"]).strip()
    capture([*buildah, "add", "--quiet", container, root.folder, "/"])
    capture([*buildah, "commit", "--quiet", "--rm", container, _BASE])


def _words_to_run(buildah: Sequence[str], folder: Path) -> list[str]:
    """The words behind buildah that run the image's command in a container with toys for it."""
    toys = [folder / "door.mp4", folder / "detector.xml"]
    must([sys.executable, ROOT / "samples" / "toy_inputs.py", *toys])
    container = capture([*buildah, "from", "--pull-never", _STREET]).strip()
    for toy in (*toys, folder / "detector.bin"):
        capture([*buildah, "add", "--quiet", container, toy, f"/models/{toy.name}"])
    image_ = json.loads(capture([*buildah, "inspect", "--type", "image", _STREET]))
    says = image_["Docker"]["config"]
    return [
        *("run", "--isolation", "chroot", "--env", "CAMERA=/models/door.mp4"),
        *("--env", "MODEL=/models/detector.xml", container, "--", "sh", "-c", _TRY, "sh"),
        *(shlex.join(says["Healthcheck"]["Test"][1:]), *says["Cmd"]),
    ]
