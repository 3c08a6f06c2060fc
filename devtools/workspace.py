# SPDX-License-Identifier: Apache-2.0
"""The distributions of this repository, and functions that run commands."""

import os
import shlex
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

_GENERATED = {"build", "dist", "node_modules", "__pycache__"}


@dataclass(frozen=True)
class Distribution:
    """One distribution of the workspace.

    `extras` are those that its tests need. `alone_with` names the distributions whose wheels
    are installed too when it is tested alone: the core always is, and more only where without
    them there would be nothing to test. `devices` are the software devices that its tests run
    on (`pytest --softdevices=`). `brings` are modules of others that come with it and not
    with the core: where it is not installed, tests may skip because they are missing.
    """

    name: str
    folder: str
    extras: tuple[str, ...] = ()
    alone_with: tuple[str, ...] = ()
    devices: tuple[str, ...] = ()
    brings: tuple[str, ...] = ()

    @property
    def path(self) -> Path:
        """The folder that holds its pyproject.toml."""
        return ROOT / self.folder

    @property
    def modules(self) -> tuple[str, ...]:
        """The modules that are missing where it is not installed."""
        return self.name.replace("-", "_"), *self.brings


def _distribution(
    folder: str, name: str, *extras: str, alone_with: str = "", devices: str = "", brings: str = ""
) -> Distribution:
    """A row of the table below: names without "samebytes-", with spaces between them."""
    company = tuple(f"samebytes-{word}" for word in alone_with.split())
    return Distribution(
        f"samebytes-{name}", folder, extras, company, tuple(devices.split()), tuple(brings.split())
    )


CORE = Distribution("samebytes", "sdk", extras=("cli", "testing"))
# fmt: off
DISTRIBUTIONS = (
    CORE,
    _distribution("backends/dma", "dma"),
    _distribution("backends/ffmpeg", "ffmpeg", alone_with="dma vaapi cuda softdevices",
                  devices="vaapi cuda", brings="av"),
    _distribution("backends/gpu_opencl", "gpu-opencl", alone_with="softdevices", devices="gpu",
                  brings="pyopencl"),
    _distribution("backends/npu_level_zero", "npu-level-zero", alone_with="softdevices",
                  devices="npu"),
    _distribution("backends/opencv", "opencv", "headless", alone_with="softdevices",
                  devices="gpu", brings="cv2"),
    _distribution("backends/openvino", "openvino", alone_with="softdevices",
                  devices="gpu npu vaapi", brings="openvino"),
    _distribution("backends/vaapi", "vaapi", alone_with="dma softdevices", devices="vaapi"),
    # Debian 12 has only girepository 1.0, Debian 13 both versions: tests use the common one.
    _distribution("contrib/gstreamer", "gstreamer", "girepository1",
                  alone_with="dma vaapi gpu-opencl softdevices", devices="gpu vaapi", brings="gi"),
    _distribution("contrib/sycl", "sycl", alone_with="gpu-opencl npu-level-zero softdevices",
                  devices="gpu npu", brings="dpctl"),
    _distribution("contrib/cuda", "cuda", alone_with="dma softdevices", devices="cuda",
                  brings="cuda cuda_bindings"),
    _distribution("contrib/ipc", "ipc", alone_with="dma"),
    _distribution("contrib/ray", "ray", brings="ray"),
    _distribution("contrib/v4l2", "v4l2", alone_with="dma"),
    _distribution("contrib/softdevices", "softdevices", "gpu", devices="gpu npu vaapi cuda"),
    # Without the two backends that it joins, a mapper can only refuse.
    _distribution("mappers", "mappers", alone_with="ffmpeg opencv openvino gpu-opencl softdevices",
                  devices="gpu"),
    _distribution("demo", "demo", alone_with="ffmpeg opencv openvino mappers softdevices",
                  devices="gpu npu", brings="rich"),
)
# fmt: on
SOFTDEVICES = next(d for d in DISTRIBUTIONS if d.name == "samebytes-softdevices")


def source_files(*suffixes: str, below: Path = ROOT) -> Iterator[Path]:
    """Every file below a folder with one of the suffixes, without generated and hidden folders."""
    for folder, folders, files in os.walk(below):
        folders[:] = sorted(f for f in folders if f not in _GENERATED and not f.startswith("."))
        for file in sorted(files):
            if file.endswith(suffixes):
                yield Path(folder, file)


def run(
    command: Iterable[str | Path], *, cwd: Path = ROOT, env: Mapping[str, str] | None = None
) -> int:
    """Run a command, shown first, with its output on this terminal. Returns its exit status."""
    words = [str(word) for word in command]
    # Not on stdout, where the command's own output may be JSON.
    print("$", shlex.join(words), file=sys.stderr, flush=True)
    return subprocess.run(words, cwd=cwd, env=env, check=False).returncode


def capture(command: Sequence[str | Path], *, cwd: Path = ROOT) -> str:
    """The output of a command; it is not shown.

    Raises:
        CommandError: it failed; the message has the last line of its errors.
    """
    words = [str(word) for word in command]
    answer = subprocess.run(words, cwd=cwd, capture_output=True, text=True, check=False)
    if answer.returncode:
        lines = answer.stderr.strip().splitlines() or ["it gave no reason"]
        raise CommandError(f"{shlex.join(words)} failed: {lines[-1]}")
    return answer.stdout


class CommandError(Exception):
    """A step that the rest depends on failed; the message is all the user needs."""


def must(
    command: Sequence[str | Path], *, cwd: Path = ROOT, env: Mapping[str, str] | None = None
) -> None:
    """Run a command that has to succeed.

    Raises:
        CommandError: it did not.
    """
    status = run(command, cwd=cwd, env=env)
    if status:
        raise CommandError(
            f"this command ended with status {status}: {shlex.join(map(str, command))}"
        )
