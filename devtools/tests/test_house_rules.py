# SPDX-License-Identifier: Apache-2.0
"""The rules that no linter knows."""

import pytest

from devtools.house_rules import (
    check_attributes,
    check_commands,
    check_constructors,
    check_imports,
    check_lazy_names,
    check_licence,
    check_locks,
    check_signals,
    check_snapshots,
    check_waits,
)

SPDX = "# SPDX-License-Identifier: Apache-2.0\n"


@pytest.mark.parametrize("text", [SPDX, f"#!/usr/bin/env python3\n{SPDX}"])
def test_licence_line_is_found(text: str) -> None:
    assert check_licence(text) == []


@pytest.mark.parametrize("text", ["", "import os\n" + SPDX, "# SPDX-License-Identifier: MIT\n"])
def test_licence_line_is_missed(text: str) -> None:
    assert len(check_licence(text)) == 1


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
    assert len(check_waits(f"pid = 1\n_, status = os{'.'}{call}\n")) == 1


@pytest.mark.parametrize(
    "call", ["waitpid(child, 0)", "wait4(pid, 0)", "waitstatus_to_exitcode(1)"]
)
def test_waits_for_one_child_are_fine(call: str) -> None:
    assert check_waits(f"os{'.'}{call}") == []


def test_signals_that_may_be_ignored_are_set() -> None:
    text = "import os, signal\ndef test_stop(): os.kill(1, signal.SIGINT)\n"
    (complaint,) = check_signals(text)
    assert complaint.startswith("2: signal.SIGINT")
    assert check_signals(f'pytestmark = pytest.mark.usefixtures("default_signals")\n{text}') == []
    assert check_signals(text.replace("SIGINT", "SIGKILL")) == []
    (of_a_shell,) = check_signals('script = "kill -TERM $PPID"\n')
    assert of_a_shell.startswith("1: kill -TERM")


@pytest.mark.parametrize(
    "text",
    [
        "import threading\nlock = threading.Lock()\n",
        "from threading import RLock\n",
        "import threading\nchanged = threading.Condition()\n",
        "from threading import Condition\nchanged = Condition()\n",
        "import functools\nclass C:\n    @functools.cached_property\n    def p(self): ...\n",
        "from _thread import allocate_lock\n",
    ],
)
def test_locks_of_the_standard_library_are_refused(text: str) -> None:
    assert len(check_locks(text)) == 1


@pytest.mark.parametrize(
    "text",
    [
        "from samebytes.plugins import Lock\nlock = Lock()\n",
        "import threading\nchanged = threading.Condition(Lock())\n",
        "import threading\nhere = threading.local()\nthreading.Thread().start()\n",
    ],
)
def test_locks_of_the_core_are_fine(text: str) -> None:
    assert check_locks(text) == []


def test_tables_are_copied_in_one_step() -> None:
    assert len(check_snapshots("for key, value in list(self._known.items()):\n")) == 1
    assert check_snapshots("for key, value in self._known.copy().items():\n") == []


PRIVATE = {
    "samebytes": frozenset(["_closed", "_planes", "_release"]),
    "samebytes_sycl": frozenset(["_queue"]),
    "samebytes_vaapi": frozenset(["_display"]),
}


@pytest.mark.parametrize(
    "text",
    [
        "if context._closed: ...",
        "frame._planes = ()",
        "del frame._planes",
        "class C:\n    def f(self): return self._planes",
        "class C:\n    def f(self): return other._release()",
        "import samebytes_vaapi\nsurface._display",
    ],
)
def test_private_attributes_of_others_are_refused(text: str) -> None:
    (complaint,) = check_attributes(text, "samebytes_sycl", PRIVATE)
    assert " is private to samebytes" in complaint


@pytest.mark.parametrize(
    "text",
    [
        "context.closed",
        "context._queue",
        "os._exit(1)",
        "surface._display",  # nothing of VA-API is named here: it is another library's
        "class C:\n    def _release(self): super()._release()",
        "class C:\n    def f(self): return self._release()",
        "class C:\n    __slots__ = ('_planes',)\n    def f(self, other): return other._planes",
        "class C:\n    def __init__(self): self._closed = False",
        "record._replace(name='')",
        "module.__dict__",
    ],
)
def test_own_and_public_attributes_are_fine(text: str) -> None:
    assert check_attributes(text, "samebytes_sycl", PRIVATE) == []


def test_a_command_that_the_core_would_make_work_is_refused_where_it_is_not_there() -> None:
    for text in ("'pip install \"samebytes-x[gpu]\"'", 'f"pip install samebytes=={v}"',
                 "'pip install --no-deps samebytes'"):  # fmt: skip
        assert len(check_commands(text)) == 1
    assert check_commands("pip install ./samebytes tbb==1") == []


@pytest.mark.parametrize("before", ["", "if not TYPE_CHECKING:\n    "])
def test_a_getattr_of_a_module_is_refused(before: str) -> None:
    text = f"{before}def __getattr__(name: str) -> object: ..."
    assert [found.partition(":")[0] for found in check_lazy_names(text)] == [
        str(text.count("\n") + 1)
    ]


@pytest.mark.parametrize(
    "text",
    [
        "if not TYPE_CHECKING:\n    __getattr__, __dir__ = lazy_exports(__name__, _HOME)",
        "class A:\n    def __getattr__(self, name): ...",
    ],
)
def test_other_getattrs_are_fine(text: str) -> None:
    assert check_lazy_names(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "Frame(arrays, home, meta, owner, None, True)",
        "home.tensor_class(native, home, native, None, False)",
        "class A(Tensor):\n    def wrap(cls, n): return cls(n, n.context, n, None, False)",
        "class A(Frame['B']):\n    def wrap(cls, n): return cls(n, n.c, n.meta, n, None, False)",
    ],
)
def test_constructors_by_position_are_refused(text: str) -> None:
    assert len(check_constructors(text)) == 1


@pytest.mark.parametrize(
    "text",
    [
        "Tensor.borrowed(native, home, keep=owner)",
        "HardwareFrame(owned, library)",
        "class A(Tensor):\n    def __init__(self, a, b, c, d, e): super().__init__(a, b, c, d, e)",
        "class A(Storage):\n    def make(cls): return cls(1, 2, 3, 4, 5)",
        "Rectangle(0, 1, 2, 3, 4)",
    ],
)
def test_other_calls_are_fine(text: str) -> None:
    assert check_constructors(text) == []
