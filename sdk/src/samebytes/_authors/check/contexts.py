# SPDX-License-Identifier: Apache-2.0
"""The rules for the context of one node: one object, and memory that is given back."""

from __future__ import annotations

import gc
import weakref

import numpy as np

from ..._core.context import Context
from ..._core.tensor import Tensor
from ..._plugins.specs import ContextSpec
from ...errors import BusyError, ClosedError, SamebytesError, UnsupportedObjectError
from .footprint import assert_nothing_stays
from .reporting import BrokenRule, NotChecked, Report
from .samples import context_of, hosts, write

__all__ = ["check"]

_SHAPE = (64, 64)
_MEGABYTE = (1024, 1024)


def check(report: Report, spec: ContextSpec, plugin: str) -> None:
    """Make the context of a node, allocate in it, close it."""
    context: Context | None = None
    with report.rule(
        "a node has one context for the same handles", spec.node,
        "create() returns the singleton; or a context whose handles= are those of a native object "
        "that it looks up before it makes one",
    ):  # fmt: skip
        context = context_of(spec, plugin)
        if context_of(spec, plugin) is not context:
            raise BrokenRule("asked for twice, there are two of them")
    if context is None:
        return
    if _allocates(report, spec, context):
        _check_memory(report, spec, context)
    if not context.singleton:
        _check_closing(report, spec, context, plugin)


def _allocates(report: Report, spec: ContextSpec, context: Context) -> bool:
    works = False
    with report.rule(
        "allocated memory is of the asked layout", spec.node,
        "allocate(shape, dtype) returns a writable tensor of the context, without a parent",
    ):  # fmt: skip
        try:
            tensor = context.allocate(_SHAPE, "uint8")
        except UnsupportedObjectError as error:
            raise NotChecked(str(error)) from error
        works = isinstance(tensor, Tensor)
        if not works:
            raise BrokenRule(f"allocate() returned {type(tensor).__name__}, not a Tensor")
        if (tensor.shape, str(tensor.dtype)) != (_SHAPE, "uint8"):
            raise BrokenRule(f"uint8{list(_SHAPE)} was asked for, and {tensor!r} was made")
        if tensor.context is not context or tensor.parent is not None or tensor.readonly:
            raise BrokenRule(f"{tensor!r} is of another context, has a parent, or is read-only")
    return works


def _check_memory(report: Report, spec: ContextSpec, context: Context) -> None:
    with report.rule(
        "nonsense is refused by name", spec.node,
        "TensorInfo(dtype, shape) raises LayoutError and UnknownNameError: make one first",
    ):  # fmt: skip
        for shape, dtype in (((-1, 4), "uint8"), ((4, 4), "no_such_type")):
            try:
                context.allocate(shape, dtype)
            except SamebytesError:
                continue
            raise BrokenRule(f"allocate({shape}, {dtype!r}) raised nothing")
    with report.rule(
        "close() gives memory back, and only if nobody uses it", spec.node,
        "pass the Storage of allocated memory as owner and as made=(storage,), and base arrays and "
        "natives on it: numpy.asarray(storage)",
    ):  # fmt: skip
        _close_owned(context)
    with report.rule(
        "an array keeps the memory that it lies in", spec.node,
        "host_array() returns arrays whose base holds the Storage: numpy.asarray(storage)",
    ):  # fmt: skip
        _outlive(context)
    with report.rule(
        "nothing stays of memory that was closed or dropped", spec.node,
        "a Storage releases the memory once, and nothing else holds the Storage: no cycle, no "
        "table with strong references",
    ):  # fmt: skip
        _repeat(context)
    with report.rule(
        'a tensor mapped with "r" is read-only', spec.node,
        "readonly_native(native) returns an object that cannot be written, where there is such",
    ):  # fmt: skip
        native = context.allocate(_SHAPE, "uint8").map(context, "r").native
        if isinstance(native, np.ndarray) and native.flags.writeable:
            raise BrokenRule("its array can be written")


def _close_owned(context: Context) -> None:
    tensor = context.allocate(_SHAPE, "uint8")
    storage = weakref.ref(tensor.storage)
    try:
        array = tensor.host_array()
    except BufferError:
        pass  # the CPU does not see it: nobody can hold an array
    else:
        array[...] = 7
        held = array[1:]
        del array
        try:
            tensor.close()
        except BusyError:
            pass
        else:
            raise BrokenRule("close() raised no BusyError although an array over it is alive")
        if not (tensor.host_array() == 7).all() or not (held == 7).all():
            raise BrokenRule("after a BusyError the tensor does not hold what it held")
        del held
    tensor.close()
    if not tensor.closed:
        raise BrokenRule("after close() the tensor is not closed")
    if storage() is not None:
        raise BrokenRule("after close() something still holds the storage")


def _outlive(context: Context) -> None:
    tensor = context.allocate(_SHAPE, "uint8")
    try:
        array = tensor.host_array()
    except BufferError as error:
        raise NotChecked(str(error)) from error
    array[...] = 7
    del tensor
    gc.collect()
    others = [context.allocate(_SHAPE, "uint8") for _ in range(4)]  # freed memory is taken again
    for other in others:
        other.host_array()[...] = 200
    if not (array == 7).all():
        raise BrokenRule("the tensor was dropped, and then its array held other bytes")


def _repeat(context: Context) -> None:
    def closed() -> None:
        context.allocate(_MEGABYTE, "uint8").close()

    def dropped() -> None:
        context.allocate(_MEGABYTE, "uint8")

    assert_nothing_stays(closed, 1 << 20)
    assert_nothing_stays(dropped, 1 << 20)


def _check_closing(report: Report, spec: ContextSpec, context: Context, plugin: str) -> None:
    with report.rule(
        "a context closes, and its memory lives on", spec.node,
        "_release() gives up the handles; tensors hold what they need through their storage",
    ):  # fmt: skip
        tensor, values = None, None
        try:
            tensor = context.allocate(_SHAPE, "uint8")
            values = write(tensor, 3)
        except (UnsupportedObjectError, NotChecked):
            tensor = None
        context.close()
        try:
            context.check_open()
        except ClosedError:
            pass
        else:
            raise BrokenRule("it is still open after close()")
        context.close()
        fresh = context_of(spec, plugin)
        if fresh is context:
            raise BrokenRule("asked for again, the closed one comes back")
        seen = None if tensor is None else hosts(tensor)
        if seen is not None and values is not None and (seen[0].reshape(-1) != values[0]).any():
            raise BrokenRule("memory that was allocated before changed with its close()")
