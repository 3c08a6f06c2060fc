# SPDX-License-Identifier: Apache-2.0
"""A capsule releases what it holds exactly once, whoever drops it, wherever and whenever."""

from __future__ import annotations

import gc
import queue
import subprocess
import sys
import textwrap
import threading
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import samebytes as sb
from samebytes import CpuTensor, TensorInfo
from samebytes.errors import ExportError
from samebytes.plugins import PointerArray

VERSIONS = [None, (1, 0)]
NAMES = ["uint16", "bfloat16"]


class Owner:
    pass


class Holder:
    """Hands one capsule to a consumer."""

    def __init__(self, capsule: object) -> None:
        self.capsule = capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)

    def __dlpack__(self, **_: object) -> object:
        return self.capsule


def exported(
    array: np.ndarray[Any, Any],
    name: str,
    max_version: tuple[int, int] | None = None,
    owner: object = None,
) -> object:
    """A capsule of an array, whose elements are of that type; of a pointer if it has an owner."""
    assert array.dtype == np.uint16
    info, cpu = TensorInfo(name, array.shape, array.strides), sb.context("cpu")
    if owner is None:
        return CpuTensor.borrowed(array, cpu, info=info).__dlpack__(max_version=max_version)
    pointer = PointerArray(cpu, array.ctypes.data, info, "made up", (owner, array))
    return pointer.dlpack_capsule((1, 0), max_version=max_version)


def consume(capsule: object) -> np.ndarray[Any, Any]:
    array: np.ndarray[Any, Any] = sb.tensor(Holder(capsule)).native
    return array


@pytest.mark.parametrize("max_version", VERSIONS)
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("consumed", [False, True])
def test_a_capsule_holds_the_owner(
    name: str, max_version: tuple[int, int] | None, consumed: bool
) -> None:
    owner = Owner()
    gone: list[int] = []
    weakref.finalize(owner, gone.append, 1)
    held: Any = exported(np.zeros(4, np.uint16), name, max_version, owner)
    del owner
    if consumed:
        held = consume(held)[1:3]
        held = held[1:]
    gc.collect()
    assert gone == []
    del held
    gc.collect()
    assert gone == [1]


@pytest.mark.parametrize("max_version", VERSIONS)
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("consumed", [False, True])
def test_a_thousand_capsules_leave_no_reference(
    name: str, max_version: tuple[int, int] | None, consumed: bool
) -> None:
    a = np.arange(4, dtype=np.uint16)
    owner = Owner()
    alive = weakref.ref(a), weakref.ref(owner)
    for _ in range(1000):
        capsule = exported(a, name, max_version, owner)
        if consumed:
            assert consume(capsule)[3] == 3
    capsule = None
    del a, owner
    gc.collect()
    assert [ref() for ref in alive] == [None, None]


def test_a_refused_export_holds_nothing() -> None:
    a = np.zeros(4, np.uint16)[::-1]
    alive = weakref.ref(a)
    for _ in range(100):
        with pytest.raises(ExportError):
            exported(a, "bfloat16")
    del a
    gc.collect()
    assert alive() is None


@pytest.mark.parametrize("name", NAMES)
def test_capsules_may_die_on_any_thread(name: str) -> None:
    a = np.zeros(4, np.uint16)
    alive = weakref.ref(a)
    work: queue.Queue[object] = queue.Queue()

    def drop() -> None:
        while (held := work.get()) is not None:
            del held

    threads = [threading.Thread(target=drop) for _ in range(4)]
    for thread in threads:
        thread.start()
    for i in range(1000):
        capsule = exported(a, name, VERSIONS[i % 2])
        work.put(consume(capsule) if i % 3 else capsule)
    capsule = None
    for _ in threads:
        work.put(None)
    for thread in threads:
        thread.join()
    del a
    gc.collect()
    assert alive() is None


def test_a_capsule_that_dies_while_an_exception_is_in_flight() -> None:
    alive: list[weakref.ref[Any]] = []

    def fail() -> None:
        a = np.zeros(4, np.uint16)
        alive.append(weakref.ref(a))
        capsule = exported(a, "bfloat16")
        raise KeyError(type(capsule).__name__)

    with pytest.raises(KeyError, match="PyCapsule"):
        fail()
    gc.collect()
    assert alive[0]() is None


def test_living_capsules_and_arrays_at_interpreter_exit() -> None:
    script = """
        import builtins, sys, threading
        import numpy as np
        import samebytes as sb

        class Holder:
            def __init__(self, capsule): self.capsule = capsule
            def __dlpack_device__(self): return (1, 0)
            def __dlpack__(self, **_): return self.capsule

        a = np.zeros(4, np.uint16)
        for name in ("uint16", "bfloat16"):
            for version in (None, (1, 0)):
                info = sb.TensorInfo(name, a.shape, a.strides)
                tensor = sb.CpuTensor.borrowed(a, sb.context("cpu"), info=info)
                capsule = tensor.__dlpack__(max_version=version)
                array = sb.tensor(Holder(tensor.__dlpack__(max_version=version))).native
                key = f"{name}{version}"
                del tensor
                globals()[key] = capsule, array
                setattr(builtins, key, (capsule, array))
                setattr(sys, key, (capsule, array))
                cycle = [capsule, array]
                cycle.append(cycle)
        threading.Thread(target=threading.Event().wait, daemon=True, args=(30,)).start()
        print("end of script")
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "end of script\n", "")


def test_the_exporter_is_what_a_host_tensor_uses(exporter: Callable[..., Any]) -> None:
    a = np.zeros(4, np.uint16)
    alive = weakref.ref(a)
    seen = sb.tensor(exporter(a, sb.dtype("bfloat16"))).map("cpu", "rw").native
    seen[2] = 7
    assert a[2] == 7
    del seen
    del a
    gc.collect()
    assert alive() is None
