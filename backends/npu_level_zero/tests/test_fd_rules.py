# SPDX-License-Identifier: Apache-2.0
"""Descriptors are closed exactly once, whatever a driver's own rules are."""

from __future__ import annotations

import itertools
import mmap
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

import pytest

from samebytes import Fd
from samebytes_npu_level_zero import LevelZeroContext, NotExportableError, _fd_rules
from samebytes_npu_level_zero._abi.constants import MemoryType
from samebytes_npu_level_zero._abi.results import Result
from samebytes_npu_level_zero._abi.structures import (
    ze_external_memory_export_desc_t,
    ze_external_memory_export_fd_t,
    ze_external_memory_import_fd_t,
)
from samebytes_npu_level_zero._allocation import Allocation, new_memory
from samebytes_npu_level_zero._fd_rules import FdRules, fd_rules
from samebytes_npu_level_zero._imports import import_fd
from samebytes_npu_level_zero._native_context import NativeContext
from samebytes_npu_level_zero._usm import export_descriptor

NoneLeft = Callable[[], AbstractContextManager[None]]


class Memory:
    """The memory of a driver made of Python, whose rules can be chosen.

    Args:
        fake: the driver.
        caches: it gives the same descriptor for each export, and closes it with the allocation.
        takes: it closes a descriptor that it imported: "at once", "later" or not at all.
    """

    def __init__(self, fake: Any, *, caches: bool = False, takes: str = "") -> None:
        self.fake, self.caches, self.takes = fake, caches, takes
        self.files: dict[int, int] = {}
        self.given: dict[int, int] = {}
        self.addresses = itertools.count(0x10000, 0x1000)
        self.wrong_closes = 0
        fake.handlers.update(
            zeMemAllocHost=self.allocate, zeMemFree=self.free, zeMemGetAllocProperties=self.query,
            zeContextCreate=self.create,
        )  # fmt: skip

    def create(self, _driver: int, _descriptor: Any, out: Any) -> None:
        self.fake.argument(out).value = 0xC1

    def allocate(self, _context: int, host: Any, size: int, _alignment: int, out: Any) -> None:
        address = next(self.addresses)
        source = self.fake.chained(host, ze_external_memory_import_fd_t)
        if source is not None:
            self.files[address] = os.dup(source.fd)
            if self.takes == "at once":
                self.close(source.fd)
            elif self.takes:
                self.given[address] = source.fd
        elif self.fake.chained(host, ze_external_memory_export_desc_t) is not None:
            self.files[address] = os.memfd_create("fake")
            os.truncate(self.files[address], size)
        self.fake.argument(out).value = address

    def free(self, _context: int, address: int) -> None:
        for numbers in (self.files, self.given):
            if address in numbers:
                self.close(numbers.pop(address))

    def query(self, _context: int, address: int, properties: Any, _device: Any) -> int | None:
        wanted = self.fake.chained(properties, ze_external_memory_export_fd_t)
        if address not in self.files:
            return Result.ERROR_NOT_AVAILABLE
        if wanted is not None:
            wanted.fd = self.files[address] if self.caches else os.dup(self.files[address])
        return None

    def close(self, number: int) -> None:
        try:
            os.close(number)
        except OSError:
            self.wrong_closes += 1


@pytest.fixture(autouse=True)
def forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget the rules that were found by trying out other drivers."""
    monkeypatch.setattr(_fd_rules, "_known", {})


RULES = list(itertools.product((False, True), ("", "at once", "later")))


@pytest.mark.parametrize(("caches", "takes"), RULES)
def test_rules_are_found_out(
    fake: Any, caches: bool, takes: str, no_descriptor_left: NoneLeft
) -> None:
    memory = Memory(fake, caches=caches, takes=takes)
    with no_descriptor_left():
        rules = fd_rules(fake.context())
        assert rules == FdRules(export_is_ours=not caches, import_takes=bool(takes))
        assert memory.wrong_closes == 0
    calls = len(fake.calls)
    assert fd_rules(fake.context()) is rules
    assert len(fake.calls) == calls, "once for each driver"


@pytest.mark.parametrize(("caches", "takes"), RULES)
def test_each_descriptor_is_closed_once(
    fake: Any, caches: bool, takes: str, no_descriptor_left: NoneLeft
) -> None:
    memory, context = Memory(fake, caches=caches, takes=takes), fake.context()
    with no_descriptor_left():
        storage, allocation = _exportable(context)
        given = allocation.exported().dup()
        imported, owner = import_fd(context, given, mmap.PAGESIZE)
        assert not given.closed
        os.fstat(given.fileno())
        del owner, imported
        os.fstat(given.fileno())
        given.close()
        del storage, allocation
    assert memory.wrong_closes == 0
    assert not memory.files


def _exportable(context: NativeContext) -> tuple[Any, Allocation]:
    allocation, storage = new_memory(
        context, mmap.PAGESIZE, MemoryType.HOST, 0, export_descriptor()
    )
    return storage, allocation


def test_a_driver_that_exports_nothing(fake: Any, no_descriptor_left: NoneLeft) -> None:
    Memory(fake)
    fake.handlers["zeMemGetAllocProperties"] = lambda *_: Result.ERROR_UNSUPPORTED_FEATURE
    with no_descriptor_left():
        assert fd_rules(fake.context()) == FdRules(export_is_ours=True, import_takes=False)
        storage, allocation = _exportable(fake.context())
        with pytest.raises(NotExportableError):
            allocation.exported()
        del storage


def test_a_driver_that_ignores_the_question(fake: Any) -> None:
    Memory(fake)
    fake.handlers["zeMemGetAllocProperties"] = lambda *_: None
    _storage, allocation = _exportable(fake.context())
    with pytest.raises(NotExportableError, match="exportable=True"):
        allocation.exported()


def test_memory_that_was_not_made_for_it_is_asked_about_once(fake: Any) -> None:
    Memory(fake)
    allocation, _storage = new_memory(fake.context(), mmap.PAGESIZE, MemoryType.HOST)
    with pytest.raises(NotExportableError, match="exportable=True") as first:
        allocation.exported()
    calls = len(fake.calls)
    with pytest.raises(NotExportableError) as again:
        allocation.exported()
    assert len(fake.calls) == calls
    assert str(first.value) == str(again.value) == allocation.unexportable


@pytest.mark.parametrize(
    ("made_for_it", "code"),
    [(True, Result.ERROR_NOT_AVAILABLE), (False, Result.ERROR_OUT_OF_HOST_MEMORY)],
)
def test_a_refusal_that_may_pass_is_not_remembered(
    fake: Any, made_for_it: bool, code: Result
) -> None:
    memory, context = Memory(fake), fake.context()
    assert fd_rules(context).export_is_ours
    allocation, _storage = new_memory(
        context, mmap.PAGESIZE, MemoryType.HOST, 0, export_descriptor() if made_for_it else None
    )
    fake.handlers["zeMemGetAllocProperties"] = lambda *_: code
    with pytest.raises(NotExportableError):
        allocation.exported()
    assert not allocation.unexportable
    fake.handlers["zeMemGetAllocProperties"] = memory.query
    if made_for_it:
        os.fstat(allocation.exported().fileno())
    else:
        with pytest.raises(NotExportableError, match="exportable=True"):
            allocation.exported()


def test_a_refused_import_takes_nothing(fake: Any, memfd: Fd) -> None:
    Memory(fake, takes="at once")
    context = fake.context()
    assert fd_rules(context).import_takes
    fake.handlers["zeMemAllocHost"] = lambda *_: Result.ERROR_OUT_OF_DEVICE_MEMORY
    with pytest.raises(Exception, match="OUT_OF_DEVICE_MEMORY"):
        import_fd(context, memfd, mmap.PAGESIZE)
    os.fstat(memfd.fileno())


@pytest.fixture
def memfd() -> Iterator[Fd]:
    """A page of memory."""
    with Fd(os.memfd_create("foreign")) as fd:
        os.truncate(fd.fileno(), mmap.PAGESIZE)
        yield fd


def test_the_driver_at_hand_follows_intels(context: LevelZeroContext) -> None:
    rules = fd_rules(context.native_context())
    assert rules == FdRules(export_is_ours=True, import_takes=False)
