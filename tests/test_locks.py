# SPDX-License-Identifier: Apache-2.0
"""Every lock that is reachable from the modules of all distributions is one of the core's."""

from __future__ import annotations

import functools
import gc
import importlib
import os
import pkgutil
import sys
import threading
from collections import OrderedDict, defaultdict, deque
from collections.abc import Iterator
from types import BuiltinFunctionType, CellType, FunctionType, MethodType, ModuleType
from typing import Any

import pytest

import samebytes
from samebytes.errors import SamebytesError
from samebytes.plugins import Lock

# It uses nothing of samebytes; pytest runs with it, or without.
WITHOUT_THE_CORE = "samebytes_softdevices"
PLAIN = (type(threading.Lock()), type(threading.RLock()), functools.cached_property)
# What is looked into, besides objects of classes of samebytes.
CONTAINERS = (
    dict, list, tuple, set, frozenset, deque, OrderedDict, defaultdict, functools.partial,
    CellType, FunctionType, MethodType, BuiltinFunctionType, threading.Condition,
)  # fmt: skip


def modules() -> Iterator[ModuleType]:
    """The modules of all distributions that can be imported here, and are not tests."""
    names = {
        module.name
        for module in pkgutil.iter_modules()
        if module.name == "samebytes" or module.name.startswith("samebytes_")
    }
    for name in sorted(names - {WITHOUT_THE_CORE}):
        try:
            package = importlib.import_module(name)
        except ImportError:
            continue
        yield package
        for found in pkgutil.walk_packages(getattr(package, "__path__", ()), f"{name}."):
            if found.name.endswith("__main__") or ".testing" in found.name:
                continue
            try:
                yield importlib.import_module(found.name)
            except (ImportError, OSError, SamebytesError):
                continue  # a framework that is not here, or another system's


def is_of_samebytes(thing: Any) -> bool:
    return str(getattr(type(thing), "__module__", "")).partition(".")[0].startswith("samebytes")


def locks(roots: list[Any]) -> tuple[list[str], int]:
    """(the locks that are not the core's, by where they are; how many are the core's)."""
    seen: set[int] = set()
    plain: list[str] = []
    ours = 0
    pending = [(root.__name__, vars(root)) for root in roots]
    tops = {root.__name__.partition(".")[0] for root in roots}
    kept = []  # so that no id is used again
    while pending:
        path, thing = pending.pop()
        if id(thing) in seen:
            continue
        seen.add(id(thing))
        kept.append(thing)
        if isinstance(thing, Lock):
            ours += 1
        elif isinstance(thing, PLAIN):
            plain.append(f"{path}: {thing!r}")
        if isinstance(thing, ModuleType) or _is_of_another_module(thing, tops):
            continue
        is_class = isinstance(thing, type) and str(thing.__module__).startswith("samebytes")
        if is_class or isinstance(thing, CONTAINERS) or is_of_samebytes(thing):
            pending += [
                (f"{path} -> {type(part).__name__}", part) for part in gc.get_referents(thing)
            ]
    return plain, ours


def _is_of_another_module(thing: Any, tops: set[str]) -> bool:
    """True if it is the dict of a module outside our distributions, which a function refers to."""
    is_module = isinstance(thing, dict) and "__name__" in thing and "__spec__" in thing
    return is_module and thing["__name__"].partition(".")[0] not in tops


def test_no_other_locks() -> None:
    found = list(modules())
    assert {module.__name__ for module in found} >= {"samebytes._counting"}
    kept = []
    for node in ("opencl", "level_zero", "vaapi", "openvino:GPU", "openvino:NPU", "sycl"):
        try:  # what holds its own locks, where there is such a device
            kept.append(samebytes.context(node))
        except SamebytesError:
            continue
    plain, ours = locks(found)
    assert plain == []
    assert ours >= 3, "the walk did not come to the locks of the core"


def test_the_walk_finds_them() -> None:
    """Wherever they are: in instances, closures, containers."""
    hidden = threading.Lock()

    class Holder:
        __module__ = "samebytes_made_up"

        def __init__(self) -> None:
            self.deep = [{"lock": threading.RLock()}]

    module: Any = ModuleType("samebytes_made_up")
    module.function = lambda: hidden
    module.instance = Holder()
    plain, _ = locks([module])
    assert len(plain) == 2


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork() here: run it on Linux or macOS")
def test_locks_of_all_distributions_are_free_in_a_child() -> None:
    """Locks that exist when the test runs, held by another thread while this one forks."""
    every = [thing for module in modules() for thing in vars(module).values()
             if isinstance(thing, Lock)]  # fmt: skip
    assert len(every) >= 3, "the modules have locks"
    holding, done = threading.Event(), threading.Event()

    def hold() -> None:
        for lock in every:
            lock.acquire()
        holding.set()
        done.wait(30)
        for lock in every:
            lock.release()

    holder = threading.Thread(target=hold)
    holder.start()
    assert holding.wait(10)
    child = os.fork()
    if not child:
        try:
            os._exit(sum(not lock.acquire(timeout=0.1) for lock in every))
        finally:
            os._exit(99)
    _, status = os.waitpid(child, 0)
    done.set()
    holder.join()
    assert os.waitstatus_to_exitcode(status) == 0, sys.version
