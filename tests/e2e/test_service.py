# SPDX-License-Identifier: Apache-2.0
"""samples/service: what its Dockerfile and its systemd unit run, run here as they would."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from .sample_inputs import make_model, make_video

ROOT = Path(__file__).parents[2]
SERVICE = ROOT / "samples" / "service"
SAMEBYTES = Path(sysconfig.get_path("scripts")) / "samebytes"


def docker_command(instruction: str) -> list[str]:
    """The list of the instruction, in the form that runs without a shell: signals reach it."""
    (found,) = re.findall(
        rf"^{instruction} .*?(\[.*\])$", (SERVICE / "Dockerfile").read_text(), re.MULTILINE
    )
    words: list[str] = json.loads(found)
    return words


def unit_command() -> list[str]:
    (found,) = re.findall(
        "^ExecStart=(.*)$", (SERVICE / "street.service").read_text(), re.MULTILINE
    )
    return shlex.split(found)


def here(words: list[str], port: int) -> list[str]:
    """The command with this machine's paths, and a port that is free."""
    found = [re.sub(r"9464", str(port), word) for word in words]
    found = [re.sub(r"^/\S*street\.py$", str(SERVICE / "street.py"), word) for word in found]
    program = {"samebytes": [str(SAMEBYTES)], "python": [sys.executable]}[Path(found[0]).name]
    return [*program, *found[1:]]


@contextmanager
def running(command: list[str], folder: Path) -> Iterator[Any]:
    """The service as systemd would start it, once it is ready, and its manager's socket."""
    make_video(folder / "video.mp4")
    make_model(folder / "detector.xml")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(folder / "notify"))
        manager.settimeout(120)
        environment = {
            **os.environ,
            "CAMERA": str(folder / "video.mp4"),
            "MODEL": str(folder / "detector.xml"),
            "NOTIFY_SOCKET": str(folder / "notify"),
            "WATCHDOG_USEC": "20000",
        }
        with subprocess.Popen(
            command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as process:
            try:
                assert manager.recv(100) == b"READY=1"
                yield process, manager
            finally:
                process.kill()


def test_both_run_the_same() -> None:
    in_docker, by_systemd = docker_command("CMD"), unit_command()
    assert here(in_docker, 1)[:-1] == here(by_systemd, 1)[:-1]
    assert (in_docker[-1], by_systemd[-1]) == ("0.0.0.0:9464", "127.0.0.1:9464")


@pytest.mark.together
@pytest.mark.usefixtures("default_signals")
def test_it_runs_is_well_and_ends_by_sigterm(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    check = here(docker_command("HEALTHCHECK"), port)
    with running(here(unit_command(), port), tmp_path) as (process, manager):
        assert manager.recv(100) == b"WATCHDOG=1"
        line = json.loads(process.stdout.readline())
        assert line["objects"][0]["detection"]["confidence"] == 0.875
        subprocess.run(check, check=True, timeout=60)
        process.send_signal(signal.SIGTERM)
        _, log = process.communicate(timeout=60)
        assert process.returncode == 0
    assert "json.sink: ended by SIGTERM after" in log
    assert subprocess.run(check, check=False, capture_output=True, timeout=60).returncode == 1


def test_the_image_gets_what_it_installs_and_nothing_else() -> None:
    """Each folder that pip installs was copied, and what a checkout has beside them was not."""
    text = (SERVICE / "Dockerfile").read_text().replace("\\\n", " ")
    copied = dict(re.findall(r"^COPY ([^-\s]\S*) (\S+)$", text, re.MULTILINE))
    assert all((ROOT / source).exists() for source in copied)
    (installs,) = re.findall(r"/pip install (.*)$", text, re.MULTILINE)
    folders = {word.partition("[")[0] for word in shlex.split(installs) if word.startswith("./")}
    street = "samples/service/street.py"
    assert folders == {f"./{source}" for source in copied if source != street}
    assert all(copied[folder[2:]] == f"/src/{folder[2:]}" for folder in folders)
    assert copied[street] == docker_command("CMD")[2] == unit_command()[2]


def test_systemd_takes_the_unit(tmp_path: Path) -> None:
    verify = shutil.which("systemd-analyze")
    if verify is None:
        pytest.skip("missing package systemd-analyze: apt install systemd")
    text = (SERVICE / "street.service").read_text()
    # It looks whether the program is there.
    made = tmp_path / "street.service"
    made.write_text(text.replace("/opt/street/bin/samebytes", str(SAMEBYTES)))
    done = subprocess.run(
        [verify, "verify", "--man=no", made], capture_output=True, text=True, timeout=60,
        check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")


def test_docker_takes_the_file() -> None:
    docker = shutil.which("docker")
    if (
        docker is None
        or subprocess.run(
            [docker, "buildx", "inspect"], capture_output=True, timeout=60, check=False
        ).returncode
    ):
        pytest.skip("needs a running Docker with buildx, whose linter reads the file")
    subprocess.run(
        [docker, "build", "--check", "-f", SERVICE / "Dockerfile", SERVICE], check=True, timeout=120
    )
