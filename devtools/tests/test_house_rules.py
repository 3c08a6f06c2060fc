# SPDX-License-Identifier: Apache-2.0
"""The rules that no linter knows."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from devtools.house_rules import (
    check_attributes,
    check_imports,
    check_lines,
    defined_in,
)
from devtools.workspace import ROOT

SOURCE = Path("sdk/src/samebytes/some.py")
TEST = Path("sdk/tests/test_some.py")
DEVICES = Path("contrib/softdevices/src/samebytes_softdevices/some.py")
QUOTES = '"""'  # apart from the words behind it, which lint would find here


def complaints(text: str, path: Path = SOURCE) -> list[str]:
    """The lines that break a rule."""
    return list(check_lines(path, text))


@pytest.mark.parametrize(
    "line",
    [
        "import samebytes._core.memory.tensor",
        "from samebytes._core.memory import tensor",
        "from samebytes import _core",
        "from samebytes.testing import _suites",
        "from samebytes_ffmpeg._planes import Planes",
    ],
)
def test_private_names_of_others_are_refused(line: str) -> None:
    assert len(check_imports(line, "samebytes_mappers")) == 1


@pytest.mark.parametrize(
    "line",
    [
        "from samebytes import Tensor, __version__",
        "from samebytes.testing import TensorSuite",
        "from samebytes_mappers._pairs import pair",
        "from . import _pairs",
        "from os import _exit",
    ],
)
def test_public_and_own_names_are_fine(line: str) -> None:
    assert check_imports(line, "samebytes_mappers") == []


@pytest.mark.parametrize(
    "call", ["wait()", "wait3(0)", "waitpid(-1, 0)", "wait4(-1, 0)", "waitid(os.P_ALL, 0, 4)"]
)
def test_waits_for_any_child_are_refused(call: str) -> None:
    # In two pieces, as this file is checked too.
    assert len(complaints(f"pid = 1\n_, status = os{'.'}{call}\n")) == 1


@pytest.mark.parametrize(
    "call", ["waitpid(child, 0)", "wait4(pid, 0)", "waitstatus_to_exitcode(1)"]
)
def test_waits_for_one_child_are_fine(call: str) -> None:
    assert complaints(f"os{'.'}{call}") == []


def test_signals_that_may_be_ignored_are_set() -> None:
    text = "import os, signal\ndef test_stop(): os.kill(1, signal.SIGINT)\n"
    (complaint,) = complaints(text, TEST)
    assert complaint.startswith("2: 'signal.SIGINT'")
    marked = f'pytestmark = pytest.mark.usefixtures("default_signals")\n{text}'
    assert complaints(marked, TEST) == []
    assert complaints(text.replace("SIGINT", "SIGKILL"), TEST) == []
    (of_a_shell,) = complaints('script = "kill -TERM $PPID"\n', TEST)
    assert of_a_shell.startswith("1: 'kill -TERM'")


@pytest.mark.parametrize(
    "text",
    [
        "import threading\nlock = threading.Lock()\n",
        "from threading import RLock\n",
        "import functools\nclass C:\n    @functools.cached_property\n    def p(self): ...\n",
        "from _thread import allocate_lock\n",
    ],
)
def test_ruff_refuses_locks_of_the_standard_library_and_files_without_a_licence(text: str) -> None:
    for path, found in ((SOURCE, True), (TEST, False), (DEVICES, False)):
        command = [sys.executable, "-m", "ruff", "check", "-"]
        answer = subprocess.run(
            [*command, f"--stdin-filename={path}"],
            input=text, capture_output=True, text=True, cwd=ROOT, check=False,
        )  # fmt: skip
        assert ("TID251" in answer.stdout) is found
        assert "CPY001" in answer.stdout


def test_a_condition_without_a_lock_of_the_core_is_refused() -> None:
    assert len(complaints("changed = threading.Condition()\n")) == 1
    assert complaints("changed = threading.Condition(Lock())\n") == []


def test_tables_are_copied_in_one_step() -> None:
    assert len(complaints("for key, value in list(self._known.items()):\n")) == 1
    assert complaints("for key, value in self._known.copy().items():\n") == []


OWN = """
class C:
    __slots__ = ("_planes", "_rows")
    _kind: int
    def _queue(self): self._closed = other._display
def _display(_frame): ...
_names = ("_display", "_frame")
"""


def test_the_names_that_a_distribution_defines() -> None:
    names = set(defined_in(ast.parse(OWN)))
    assert {"_planes", "_rows", "_kind", "_queue", "_closed"} <= names
    assert not names & {"_display", "_frame", "_names"}, "modules and functions have them"


@pytest.mark.parametrize(
    "text",
    [
        "if context._display: ...",
        "frame._display = ()",
        "class C:\n    def f(self): return self._display",
        "class C:\n    def f(self): return other._release()",
    ],
)
def test_private_attributes_of_others_are_refused(text: str) -> None:
    (complaint,) = check_attributes(text, set(defined_in(ast.parse(OWN))))
    assert " is private to another" in complaint


@pytest.mark.parametrize(
    "text",
    [
        "context.closed",
        "context._queue",
        "os._exit(1)",
        "class C:\n    def _release(self): super()._release()",
        "class C:\n    def f(self): return self._release()",
        "class C:\n    def f(self, other): return other._planes",
        "record._replace(name='')",
        "module.__dict__",
    ],
)
def test_own_and_public_attributes_are_fine(text: str) -> None:
    assert check_attributes(text, set(defined_in(ast.parse(OWN)))) == []


@pytest.mark.parametrize(
    "text",
    [
        f'{QUOTES}What holds memory."""\n',
        f'def f():\n    {QUOTES}Whether it is open."""\n',
        'if True:\n    async def f():\n        """\n        Why not."""\n',
    ],
)
def test_docstrings_whose_first_word_says_nothing(text: str) -> None:
    (found,) = complaints(text)
    assert "open it with a noun or a verb" in found
    assert complaints(text, TEST) == [found]
    assert complaints('"""The holders of memory; what is more is refused."""\n') == []


@pytest.mark.parametrize(
    "line",
    [
        'raise LayoutError(f"{x!r} is no dtype")',
        "# shapes that are no sequences",
        "3 descriptors came along",
        "the route is made anew",
        "it would wait for ever",
        "the decoder lets go of the frame",
        "the array is let go",
        "a bug is mended",
        "what the driver tells",
        "it was told two sizes",
        "a context that is no more",
        "def test_a_name_that_is_no_kernel() -> None:",
        "def test_too_late_is_told() -> None:",
        "a stranger may have sent it",
    ],
)
def test_a_phrase_is_found(line: str) -> None:
    (found,) = complaints(f"\n{line}\n")
    assert found.startswith("2: ")


@pytest.mark.parametrize(
    "line",
    [
        "there is no device, and it is no longer used",
        "there are no more than 8",
        "it has no more room",
        "the two cannot be told apart",
        "OpenVINO tells them apart",
        "anewfangled, recommended, amendment",
        "let the user go on",
    ],
)
def test_plain_english_is_fine(line: str) -> None:
    assert complaints(line) == []
