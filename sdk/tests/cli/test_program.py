# SPDX-License-Identifier: Apache-2.0
"""The `samebytes` program: finding commands, exit statuses, errors without tracebacks."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

import samebytes as sb
from samebytes.__main__ import main

if TYPE_CHECKING:
    from sdk.tests.conftest import Site

Capture = pytest.CaptureFixture[str]

_COMMAND = """
SUMMARY = "do something made up"

def add_arguments(parser):
    parser.add_argument("--number", type=int, default=0)

def run(options):
    print("number", options.number)
    return options.number
"""


def test_version(capsys: Capture) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"samebytes {sb.__version__}\n"


def test_no_command_shows_the_help(capsys: Capture) -> None:
    assert main([]) == 2
    assert "usage: samebytes" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["list", "doctor", "route"])
def test_help_of_commands(capsys: Capture, name: str) -> None:
    assert main([name, "--help"]) == 0
    assert "--json" in capsys.readouterr().out


def test_unknown_command(capsys: Capture) -> None:
    assert main(["lisst", "--json"]) == 2
    assert "unknown command 'lisst'; did you mean 'list'" in capsys.readouterr().err


def test_unknown_option(capsys: Capture) -> None:
    assert main(["--jsn", "list"]) == 2
    assert "--jsn" in capsys.readouterr().err


def test_default_arguments_are_those_of_the_process(
    monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.setattr(sys, "argv", ["samebytes", "--version"])
    assert main() == 0
    assert "samebytes" in capsys.readouterr().out


def test_a_command_of_another_distribution(site: Site, capsys: Capture) -> None:
    site.command("alpha", _COMMAND)
    assert main(["alpha", "--number", "5"]) == 5
    assert capsys.readouterr().out == "number 5\n"
    assert main(["alpha", "--help"]) == 0
    assert "do something made up" in capsys.readouterr().out
    assert main(["alpha", "--nonsense"]) == 2


def test_help_imports_no_command(site: Site, capsys: Capture) -> None:
    site.command("alpha", "raise RuntimeError('imported')\n")
    site.command("beta", _COMMAND)
    assert main(["--help"]) == 0
    out = capsys.readouterr().out
    assert "from alpha-dist" in out
    assert main(["beta"]) == 0
    assert "alpha_command" not in sys.modules


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("raise RuntimeError('at home')\n", "RuntimeError: at home"),
        ("raise SystemExit(0)\n", "SystemExit: 0"),
        ("def broken(:\n", "SyntaxError"),
        ("", "it has no SUMMARY"),
        ("SUMMARY = ''\ndef run(options): pass\n", "it has no add_arguments"),
        (
            (
                "SUMMARY = ''\ndef add_arguments(parser): parser.add_argument('-h')\n"
                "def run(options): pass\n"
            ),
            "add_arguments() raised ArgumentError",
        ),
    ],
)
def test_a_broken_command(site: Site, capsys: Capture, code: str, expected: str) -> None:
    site.command("alpha", code)
    assert main(["alpha"]) == 1
    err = capsys.readouterr().err
    assert err.startswith("samebytes: plugin 'alpha': ")
    assert expected in err
    assert "Traceback" not in err
    assert main(["list"]) == 0


def test_a_command_that_names_no_module(site: Site, capsys: Capture) -> None:
    site.distribution("alpha-dist", "[samebytes.commands]\nalpha = not a module\n")
    assert main(["alpha"]) == 1
    assert "does not name a module" in capsys.readouterr().err


def test_our_own_commands_come_first(site: Site, capsys: Capture) -> None:
    site.command("list", "raise RuntimeError\n")
    assert main(["list"]) == 0
    assert "PLUGIN" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("body", "status", "expected"),
    [
        ("return None", 0, ""),
        ("raise SystemExit", 0, ""),
        ("raise SystemExit(7)", 7, ""),
        ("raise SystemExit('so it ends')", 1, "so it ends\n"),
        ("raise KeyboardInterrupt", 130, ""),
        ("raise LayoutError('too wide')", 1, "samebytes: too wide\n"),
        ("raise UnknownNameError('thing', 'x', ['y'])", 2, "unknown thing 'x'"),
        ("raise TypeError('a mistake')", 1, "unexpected TypeError: a mistake"),
    ],
)
def test_how_a_command_ends(
    site: Site, capsys: Capture, body: str, status: int, expected: str
) -> None:
    code = f"from samebytes.errors import *\ndef run(options):\n    {body}\n"
    site.command("alpha", "SUMMARY = ''\ndef add_arguments(parser): pass\n" + code)
    assert main(["alpha"]) == status
    err = capsys.readouterr().err
    assert expected in err if expected else err == ""
    assert "Traceback" not in err


def test_traceback_on_request(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    monkeypatch.setenv("SAMEBYTES_TRACEBACK", "1")
    assert main(["route", "cpu", "nowhere-at-all"]) == 2
    err = capsys.readouterr().err
    assert "Traceback" in err
    assert "UnknownNameError: unknown memory type 'nowhere-at-all'" in err


@pytest.mark.parametrize("wanted", ["0", "1"])
def test_no_secret_in_what_is_printed(
    site: Site, capsys: Capture, monkeypatch: pytest.MonkeyPatch, wanted: str
) -> None:
    monkeypatch.setenv("SAMEBYTES_TRACEBACK", wanted)
    code = (
        "    password = 'zvw7pq'\n"
        "    raise TypeError('me:zvw7pq@c') from OSError(1, 'gone', f'x://me:{password}@c')\n"
    )
    site.command(
        "alpha", f"SUMMARY = ''\ndef add_arguments(parser): pass\ndef run(options):\n{code}"
    )
    assert main(["alpha"]) == 1
    err = capsys.readouterr().err
    assert "...@c" in err
    assert "zvw7pq" not in err


@pytest.mark.parametrize(
    "words",
    [
        "run cam.py rtsp://me:{}@c/live",
        "run cam.py --password {}",
        "run cam.py --log rtsp://me:{}@c/live",
        "run cam.py --frames http://c/?token={}",
        "graph --output rtsp://me:{}@c/live.svg",
        "doctor --hardware-report rtsp://me:{}@c/live",
        "--token {}",
        "--password {} list",
    ],
)
def test_no_secret_in_what_is_wrong_with_a_command_line(capsys: Capture, words: str) -> None:
    assert main(words.format("s3cret").split()) in {1, 2}
    err = capsys.readouterr().err
    assert "..." in err
    assert "s3cret" not in err


def test_as_a_module(site: Site) -> None:
    done = site.python("-m", "samebytes", "list", "--json")
    assert done.returncode == 0, done.stderr
    assert '"name": "cpu"' in done.stdout


def test_listing_imports_no_framework(site: Site) -> None:
    code = """
import sys
from samebytes.__main__ import main
main(["list"])
frameworks = "av", "cv2", "openvino", "torch", "pyopencl", "gi", "dpctl", "rich"
print("imported", [name for name in frameworks if name in sys.modules])
"""
    assert site.python("-c", code).stdout.splitlines()[-1] == "imported []"


def test_a_reader_that_goes_away(site: Site) -> None:
    site.command(
        "alpha",
        "SUMMARY = ''\ndef add_arguments(parser): pass\n"
        "def run(options):\n    while True: print('more' * 1000)\n",
    )
    with subprocess.Popen(
        [sys.executable, "-m", "samebytes", "alpha"],
        env={**os.environ, "PYTHONPATH": str(site.path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as program:
        assert program.stdout is not None
        assert program.stderr is not None
        program.stdout.readline()
        program.stdout.close()
        assert program.stderr.read() == b""
        assert program.wait() == 141


@pytest.mark.usefixtures("default_signals")
def test_interrupting(site: Site) -> None:
    site.command(
        "alpha",
        "import time\nSUMMARY = ''\ndef add_arguments(parser): pass\n"
        "def run(options):\n    print('running', flush=True)\n    time.sleep(60)\n",
    )
    with subprocess.Popen(
        [sys.executable, "-m", "samebytes", "alpha"],
        env={**os.environ, "PYTHONPATH": str(site.path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as program:
        assert program.stdout is not None
        assert program.stderr is not None
        program.stdout.readline()
        program.send_signal(signal.SIGINT)
        assert program.stderr.read() == b""
        assert program.wait() == 130


def shell(site: Site, words: str, unbuffered: str = "") -> subprocess.CompletedProcess[str]:
    """The command with redirections of a shell; its errors are kept unless they are redirected."""
    variables = {"PYTHONPATH": str(site.path), "PYTHONUNBUFFERED": unbuffered}
    return subprocess.run(
        ["sh", "-c", f"exec {shlex.quote(sys.executable)} -m samebytes {words}"],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


COMMANDS = ("list", "list --json", "doctor cpu", "--version", "list --help")


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("words", COMMANDS)
@pytest.mark.together
def test_a_full_output_is_reported(site: Site, words: str, unbuffered: str) -> None:
    done = shell(site, f"{words} >/dev/full", unbuffered)
    assert done.stderr == "samebytes: cannot write the output: No space left on device\n"
    assert done.returncode == 1


@pytest.mark.together
def test_the_output_is_reported_once_where_an_element_writes_it(site: Site) -> None:
    file = site.path / "prints.py"
    file.write_text(
        "import samebytes as sb, samebytes.elements as el\n"
        "frame = sb.context('cpu').allocate_frame('GRAY8', 8, 8)\n"
        "pipeline = el.Pipeline([frame], lambda frame: print(frame, flush=True))\n"
    )
    done = shell(site, f"run {shlex.quote(str(file))} --quiet >/dev/full")
    log, said = done.stderr.splitlines()
    assert log.endswith("ERROR samebytes: element '<lambda>' (stream 0): OSError: [Errno 28] No "
                        "space left on device")  # fmt: skip
    assert said == "samebytes: cannot write the output: No space left on device"
    assert done.returncode == 1


@pytest.mark.parametrize("words", COMMANDS)
@pytest.mark.together
def test_a_closed_output_is_discarded(site: Site, words: str) -> None:
    done = shell(site, f"{words} >&-")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    "streams", [">/dev/full", ">&-", "2>/dev/full", "2>&-", ">&- 2>&-", ">/dev/full 2>/dev/full"]
)
@pytest.mark.parametrize(
    ("words", "said"), [("nonsense", "unknown command"), ("list --nonsense", "unrecognized")]
)
@pytest.mark.together
def test_the_status_does_not_depend_on_the_streams(
    site: Site, words: str, said: str, streams: str
) -> None:
    done = shell(site, f"{words} {streams}")
    assert done.returncode == 2
    assert (said in done.stderr) == ("2>" not in streams)


def test_a_file_does_not_take_the_place_of_a_closed_output(site: Site) -> None:
    site.command(
        "alpha",
        "import os\nSUMMARY = ''\ndef add_arguments(parser): pass\n"
        "def run(options):\n    return 4 if os.open('/dev/zero', 0) < 3 else 5\n",
    )
    assert shell(site, "alpha >&-").returncode == 5
