# SPDX-License-Identifier: Apache-2.0
"""`samebytes run`: pipelines of files, their end, and what a service needs."""

from __future__ import annotations

import io
import json
import logging
import signal
import socket
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from samebytes.__main__ import main
from samebytes._cli import run, service
from samebytes._cli.service import Service

Capture = pytest.CaptureFixture[str]

_FILE = """
import numpy as np
import samebytes as sb
import samebytes.elements as el
from meanwhile import do

@el.source(gives=el.Image("GRAY8", memory="cpu", width=16, height=8))
def pictures():
    for number in range(3):
        yield sb.frame(np.zeros((8, 16), np.uint8), format="GRAY8")
        do(number)

def pipeline():
    return el.Pipeline(pictures(), lambda frame: frame)

number = 5
"""

_ASKED = """
class Asked(el.Source):
    name = "asked"
    gives = el.Image("GRAY8", memory="cpu")

    def negotiate(self, wanted):
        from meanwhile import asked
        asked.answer()

    def read(self):
        return None

def camera():
    return el.Pipeline(Asked())
"""


@pytest.fixture
def meanwhile(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[int], None]], None]:
    """Sets what is done in the source's thread after each frame."""

    def set_it(do: Callable[[int], object]) -> None:
        monkeypatch.setitem(sys.modules, "meanwhile", SimpleNamespace(do=do))

    set_it(lambda number: None)
    return set_it


@pytest.fixture
def file(tmp_path: Path, meanwhile: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A file with pipelines."""
    assert meanwhile
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, "samebytes_pipeline", raising=False)
    made = tmp_path / "street.py"
    made.write_text(_FILE)
    yield str(made)
    sys.modules.pop("samebytes_pipeline", None)


def free_port() -> int:
    """A port that nobody listens at."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def get(port: int, path: str, method: str = "GET") -> tuple[int, str]:
    """The status and the text of an answer."""
    asked = urllib.request.Request(f"http://127.0.0.1:{port}{path}", method=method)
    try:
        with urllib.request.urlopen(asked, timeout=30) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def test_a_function_that_returns_a_pipeline(file: str, capsys: Capture) -> None:
    assert main(["run", file]) == 0
    written = capsys.readouterr()
    assert written.err.startswith("element ")
    assert "\npictures " in written.err
    assert written.out == ""  # of what the pipeline writes


def test_a_name_and_json(file: str, capsys: Capture) -> None:
    assert main(["run", f"{file}:pipeline", "--json", "--frames", "2", "--threads", "0"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["elements"][1]["frames_in"] == 2


def test_the_plan(file: str, capsys: Capture) -> None:
    assert main(["run", file, "--explain"]) == 0
    assert capsys.readouterr().out.startswith("pictures gives image GRAY8 16x8 in cpu")


@pytest.mark.parametrize("away", [True, False])
def test_a_plan_that_waits_for_a_camera_says_so(
    file: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch, away: bool
) -> None:
    """The camera is there when standard error has the line, or from the beginning."""
    said = threading.Event()

    class Written(io.StringIO):
        def write(self, text: str, /) -> int:
            number = super().write(text)
            said.set()
            return number

    written = Written()
    monkeypatch.setattr(sys, "stderr", written)
    monkeypatch.setattr(run, "_A_WHILE", 0.0 if away else 600.0)
    asked = SimpleNamespace(answer=lambda: said.wait(10 if away else 0))
    monkeypatch.setitem(sys.modules, "meanwhile", SimpleNamespace(do=print, asked=asked))
    path = Path(file)
    path.write_text(path.read_text() + _ASKED)
    assert main(["run", f"{file}:camera", "--explain"]) == 0
    assert capsys.readouterr().out.startswith("asked gives")
    assert ("waiting for a source to announce its frames" in written.getvalue()) == away


def test_a_module(
    file: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "avenue.py").write_text(Path(file).read_text())
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "avenue", raising=False)
    assert main(["run", "avenue:pipeline", "--quiet"]) == 0
    assert capsys.readouterr().out == ""
    del sys.modules["avenue"]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        (":pipelin", "did you mean 'pipeline'"),
        (":number", "is an object of int, neither a Pipeline nor a function that returns one"),
    ],
)
def test_other_things_than_pipelines(file: str, capsys: Capture, name: str, words: str) -> None:
    assert main(["run", file + name]) in (1, 2)
    assert words in capsys.readouterr().err


def test_a_file_that_is_not_of_python(tmp_path: Path, capsys: Capture) -> None:
    video = tmp_path / "street.mp4"
    video.write_bytes(b"ftyp")
    assert main(["run", str(video)]) == 1
    assert "street.mp4 is not a file of Python, whose name ends in .py" in capsys.readouterr().err


def test_a_list_of_elements_is_not_a_pipeline_yet(file: str, capsys: Capture) -> None:
    path = Path(file)
    path.write_text(path.read_text() + "\nelements = []\ndef listed(): return elements\n")
    assert main(["run", f"{file}:elements"]) == 1
    assert "put samebytes.elements.Pipeline(*elements) there" in capsys.readouterr().err
    assert main(["run", f"{file}:listed"]) == 1
    said = capsys.readouterr().err
    assert "listed returns an object of list" in said
    assert "return samebytes.elements.Pipeline(*elements) there" in said


def test_a_function_that_asks_for_arguments(file: str, capsys: Capture) -> None:
    path = Path(file)
    path.write_text(path.read_text() + "\ndef of(video): return pipeline()\n")
    assert main(["run", f"{file}:of"]) == 1
    assert "missing a required argument: 'video'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ("none/street.py", "there is no such file"),
        (".", "it is a folder"),
        ("nosuch.module:x", "unknown file or module"),
    ],
)
def test_what_is_not_there(file: str, capsys: Capture, place: str, words: str) -> None:
    assert file
    assert main(["run", place]) == 2
    assert words in capsys.readouterr().err


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (
            "import os; os.environ['CAMERA_OF_NOBODY']",
            "line 3: the environment variable CAMERA_OF_NOBODY, which is read there, is not set",
        ),
        ("def pipeline(): return {}['a']", "line 3: KeyError: 'a'"),
        ("pipeline = =", "line 3: SyntaxError: invalid syntax"),
        ("def pipeline(): el.create('none.such')", "unknown element 'none.such'"),
    ],
)
@pytest.mark.parametrize("as_module", [False, True])
def test_what_the_file_raises_has_its_line(
    file: str, line: str, says: str, as_module: bool, capsys: Capture, monkeypatch: Any
) -> None:
    broken = Path(file).with_name("broken.py")
    broken.write_text(f"import samebytes.elements as el\n\n{line}\n")
    monkeypatch.chdir(broken.parent)
    monkeypatch.delitem(sys.modules, "broken", raising=False)
    assert main(["run", "broken" if as_module else "broken.py"]) in (1, 2)
    error = capsys.readouterr().err
    assert says in error
    assert "unexpected" not in error
    sys.modules.pop("broken", None)


def test_what_an_element_raises_has_its_line(file: str, capsys: Capture) -> None:
    made = Path(file)
    made.write_text(made.read_text().replace("lambda frame: frame", "lambda frame: frame.nothing"))
    assert main(["run", file, "--quiet"]) == 1
    line = next(n for n, text in enumerate(made.read_text().splitlines(), 1) if "lambda" in text)
    said = capsys.readouterr().err.splitlines()[-1]
    assert said.startswith("samebytes: element ")
    assert said.endswith(f"has no attribute 'nothing' ({file}, line {line})")


@contextmanager
def new_root() -> Iterator[logging.Logger]:
    """The root logger as a program begins with it, without pytest's handlers."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    root.handlers.clear()
    root.setLevel(logging.WARNING)
    try:
        yield root
    finally:
        root.handlers[:] = handlers
        root.setLevel(level)


def test_what_the_file_logs_first_changes_no_level(file: str, capsys: Capture) -> None:
    made = Path(file)
    # It gives the root a handler where there is none, as packages do while they are imported.
    made.write_text(f"import logging\nlogging.warning('early')\n{made.read_text()}")
    with new_root():
        assert main(["run", file, "--quiet", "--log", "info"]) == 0
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "WARNING:root:early"
    assert [line for line in lines if " INFO samebytes: " in line]


@pytest.mark.parametrize("given", ["level='INFO'", "format='mine: %(message)s'"])
def test_a_file_may_set_up_its_log(file: str, given: str, capsys: Capture) -> None:
    made = Path(file)
    made.write_text(f"import logging\nlogging.basicConfig({given})\n{made.read_text()}")
    with new_root() as root:
        assert main(["run", file, "--quiet", "--log", "info"]) == 0
        (handler,) = root.handlers
    assert type(handler) is logging.StreamHandler
    assert " INFO samebytes: " not in capsys.readouterr().err


def test_a_port_that_is_taken_is_named(file: str, capsys: Capture) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert main(["run", file, "--listen", str(port)]) == 1
    assert f"bind() of 127.0.0.1:{port} failed with " in capsys.readouterr().err
    for wrong in ("port", "70000", "-1"):
        assert main(["run", file, f"--listen={wrong}"]) == 2
        assert f"'{wrong}' has no port: one is 0 to 65535" in capsys.readouterr().err


@pytest.mark.parametrize(("option", "least"), [("--frames", 1), ("--threads", 0), ("--queue", 1)])
def test_numbers_that_are_none(file: str, capsys: Capture, option: str, least: int) -> None:
    for wrong in ("many", str(least - 1), "1.5"):
        assert main(["run", file, f"{option}={wrong}"]) == 2
        said = f"argument {option}: '{wrong}' is not a whole number: it is {least} or more"
        assert said in capsys.readouterr().err


@pytest.mark.usefixtures("default_signals")
@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_signals_end_the_streams(
    file: str, meanwhile: Any, capsys: Capture, number: int, status: int
) -> None:
    before = signal.getsignal(number)
    meanwhile(lambda frame: signal.raise_signal(number) if frame == 0 else None)
    assert main(["run", file, "--threads", "0", "--json"]) == status
    found = json.loads(capsys.readouterr().out)
    assert found["elements"][1]["frames_in"] == 2  # with the one that was just read
    assert found["lost"] == 0
    assert signal.getsignal(number) is before


def test_health_and_metrics(file: str, meanwhile: Any) -> None:
    pytest.importorskip(
        "opentelemetry.exporter.prometheus",
        reason="missing package opentelemetry-exporter-prometheus: python3 dev.py setup",
    )
    port, answers = free_port(), {}

    def ask(number: int) -> None:
        if number == 2:
            # A frame can be here before start() has returned, and the service knows of it then.
            while get(port, "/healthz")[1] == "it has not started yet\n":
                pass
            answers.update({p: get(port, p) for p in ("/healthz", "/metrics", "/none")})

    meanwhile(ask)
    assert main(["run", file, "--listen", str(port)]) == 0
    status, text = answers["/healthz"]
    assert status == 200
    assert text.startswith("a frame moved ")
    assert answers["/none"][0] == 404
    status, text = answers["/metrics"]
    assert status == 200
    assert 'samebytes_frames_in_total{element="pictures"' in text
    with pytest.raises(urllib.error.URLError):
        get(port, "/healthz")


def test_no_frame_for_too_long_is_unhealthy() -> None:
    running: Any = SimpleNamespace(stopped=False, seconds_still=5.0)
    port = free_port()
    with Service(f"127.0.0.1:{port}", "street", still=4.0) as service:
        assert get(port, "/healthz") == (503, "it has not started yet\n")
        service._running = running
        assert get(port, "/healthz") == (503, "a frame moved 5.0 s ago\n")
        running.seconds_still = 3.0
        assert get(port, "/healthz") == (200, "a frame moved 3.0 s ago\n")
        assert get(port, "/healthz?of=door") == (200, "a frame moved 3.0 s ago\n")
        assert get(port, "/healthz", "HEAD") == (200, "")
        running.stopped = True
        assert get(port, "/healthz") == (503, "it has stopped\n")


def test_metrics_without_an_exporter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    port = free_port()
    with Service(str(port), "street", still=4.0):
        status, text = get(port, "/metrics")
    assert status == 501
    assert "pip install opentelemetry-exporter-prometheus" in text


def test_systemd_gets_reports(
    file: str, meanwhile: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    reports: list[str] = []
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(tmp_path / "notify"))
        manager.settimeout(30)
        monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "notify"))
        monkeypatch.setenv("WATCHDOG_USEC", "2000")

        def listen(number: int) -> None:
            while number == 2 and reports.count("WATCHDOG=1") < 2:
                reports.append(manager.recv(100).decode())

        meanwhile(listen)
        assert main(["run", file, "--quiet"]) == 0
        while reports[-1] != "STOPPING=1":
            reports.append(manager.recv(100).decode())
    assert reports[0] == "READY=1"
    assert reports.count("STOPPING=1") == 1


def test_a_bar_on_a_terminal(file: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("rich", reason='missing package rich: pip install "samebytes[cli]"')
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    text = Path(file).read_text()
    made = "made = el.Pipeline([sb.frame(np.zeros((8, 16), np.uint8), format='GRAY8')] * 5)"
    Path(file).write_text(f"{text.partition('made =')[0]}{made}\n")
    assert main(["run", f"{file}:made"]) == 0
    assert "5/5" in capsys.readouterr().err


def test_a_manager_that_does_not_read_holds_nothing_up(
    file: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(service, "_PATIENCE", 0.01)
    monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "notify"))
    assert main(["run", file, "--quiet"]) == 0  # it is gone
    with (
        socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager,
        socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as other,
    ):
        manager.bind(str(tmp_path / "notify"))
        other.settimeout(0.01)
        with suppress(TimeoutError):
            while True:
                other.sendto(b"X=1", str(tmp_path / "notify"))
        assert main(["run", file, "--quiet"]) == 0
