# SPDX-License-Identifier: Apache-2.0
"""Contexts: the device's own and a user's, kept, closed or gone; forks and a program's exit."""

from __future__ import annotations

import ctypes
import gc
from typing import Any, ClassVar

import numpy as np
import pytest

import samebytes
import samebytes_cuda
from samebytes.errors import (
    ClosedError,
    ExportError,
    MissingDependencyError,
    UnknownNameError,
    UnsupportedObjectError,
)
from samebytes_cuda import CudaContext, _context, _driver


def test_contexts(gpu: Any, context: CudaContext) -> None:
    assert samebytes.context("cuda") is samebytes.context("cuda:0") is context
    assert samebytes_cuda.context(gpu.context) is context
    assert samebytes_cuda.context(int(gpu.context)) is context
    assert samebytes_cuda.context(ctypes.c_void_p(int(gpu.context))) is context
    assert context.handle("cuda_context") == int(gpu.context)
    assert (context.handle("cuda_device"), context.handle("cuda_stream")) == (0, 1)
    assert context.device.uuid is not None
    with pytest.raises(UnknownNameError, match="CUDA device"):
        samebytes.context("cuda:99")
    with pytest.raises(UnsupportedObjectError):
        samebytes_cuda.context("gpu")


def test_attributes_of_the_device(gpu: Any, context: CudaContext) -> None:
    name = "CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY"
    key = getattr(gpu.driver.CUdevice_attribute, name)
    number = gpu.ok(gpu.driver.cuDeviceGetAttribute(key, 0))
    assert context.supports("MANAGED_MEMORY") is context.supports(name) is bool(number)
    assert context.supports("UNIFIED_ADDRESSING"), "CUDA has no 64-bit device without it"
    for wrong in ("MANAGED_MEMRY", "CU_DEVICE_ATTRIBUTE_MANAGED_MEMRY"):
        with pytest.raises(UnknownNameError, match=wrong) as caught:
            context.supports(wrong)
        assert caught.value.nearest[0] == wrong.replace("MEMRY", "MEMORY")


def test_a_context_of_your_own(gpu: Any, context: CudaContext) -> None:
    native = gpu.ok(gpu.driver.cuCtxCreate(None, 0, 0))
    gpu.driver.cuCtxPopCurrent()
    own = samebytes_cuda.context(native)
    assert own is not context
    assert not own.is_primary
    tensor = own.allocate((16,))
    assert samebytes_cuda.tensor(tensor.native).context is own
    assert (tensor.map("cpu", copy=True).native.shape) == (16,)
    with pytest.raises(ExportError, match="context of its own"):
        tensor.__dlpack__()
    del tensor
    gc.collect()
    own.close()
    gpu.ok(gpu.driver.cuCtxDestroy(native))


def test_what_is_left_of_a_closed_context(gpu: Any) -> None:
    native = gpu.ok(gpu.driver.cuCtxCreate(None, 0, 0))
    gpu.driver.cuCtxPopCurrent()
    own = samebytes_cuda.context(native)
    tensor = own.allocate((16,), "uint8", "pinned")
    array, made = np.asarray(tensor), tensor.native
    own.close()
    array[...] = 3  # the memory is there as long as someone holds it
    with pytest.raises(ClosedError):
        own.allocate((4,))
    with pytest.raises(ClosedError):
        own.allocate_frame("GRAY8", 4, 4)
    assert made.__cuda_array_interface__["shape"] == (16,)
    for same in (tensor, samebytes_cuda.tensor(made)):
        assert same.map("cpu").native.sum() == 48
    assert array.sum() == 48
    del array, made, tensor, same
    gc.collect()
    gpu.ok(gpu.driver.cuCtxDestroy(native))


def test_a_context_that_is_gone(gpu: Any, run: Any) -> None:
    if not gpu.is_software:
        pytest.skip("NVIDIA's driver does not define what a CUcontext does that is gone")
    program = """
        from cuda.bindings import driver
        import samebytes_cuda
        from samebytes.errors import ClosedError, NativeError
        driver.cuInit(0)
        handle = driver.cuCtxCreate(None, 0, 0)[1]
        own = samebytes_cuda.context(handle)
        tensor = own.allocate((16,))
        driver.cuCtxDestroy(handle)
        for use in (lambda: tensor.map("cpu", copy=True), lambda: own.allocate((4,))):
            try:
                use()
            except NativeError as error:
                print(type(error).__name__)
        try:
            samebytes_cuda.context(handle)
        except ClosedError as error:
            print("ClosedError")
        del tensor
    """
    assert run(program).split() == ["NativeError", "NativeError", "ClosedError"]


def test_memory_of_a_context_that_is_gone(run: Any) -> None:
    """It ended with its context; what the context itself does then, NVIDIA does not define."""
    program = """
        from cuda.bindings import driver
        import samebytes
        from samebytes.errors import LayoutError
        driver.cuInit(0)
        own = driver.cuCtxCreate(None, 0, 0)[1]
        address = int(driver.cuMemAlloc(1 << 22)[1])
        interface = {"data": (address, False), "shape": (16,), "typestr": "|u1", "version": 3}
        array = type("Array", (), {"__cuda_array_interface__": interface})()
        print(samebytes.tensor(array).context.is_primary)
        driver.cuCtxDestroy(own)
        try:
            samebytes.tensor(array)
        except LayoutError as error:
            print("CUDA does not know" in str(error))
    """
    assert run(program).split() == ["False", "True"]


def test_wrapping_asks_for_a_device_once(run: Any) -> None:
    """Also where nobody holds the context: the driver may wait when a context is retained."""
    program = """
        import gc, samebytes, samebytes_cuda
        import samebytes_cuda._context as home
        from cuda.bindings import driver
        handle = int(samebytes.context("cuda").native)
        driver.cuCtxPushCurrent(handle)
        address = int(driver.cuMemAlloc(16)[1])
        interface = {"data": (address, False), "shape": (16,), "typestr": "|u1", "version": 3}
        array = type("Array", (), {"__cuda_array_interface__": interface})()
        gc.collect()
        assert not home._contexts.all(), "somebody holds the context"
        for name in [name for name in dir(driver) if name.startswith("cuDevice")]:
            setattr(driver, name, lambda *_, name=name: print(name))
        print(samebytes.tensor(array).shape)
    """
    assert run(program) == "(16,)\n"


def test_wrapping_keeps_the_context_until_it_is_closed(run: Any) -> None:
    """Else a program that only wraps would make it, and compile its routes, for each array."""
    program = """
        import gc, weakref, samebytes
        gc.disable()
        context = samebytes.context("cuda")
        tensor = context.allocate((16,))
        array, held = tensor.native, weakref.ref(context)
        interface = dict(array.__cuda_array_interface__)
        lent = type("Array", (), {"__cuda_array_interface__": interface})()
        assert samebytes.tensor(lent).map("cuda").context is context
        del context
        tensor, kept, array = None, array, None
        assert held() is kept.context
        del kept
        assert held() is not None
        held().close()
        assert held() is None, "a closed context is kept"
        print(samebytes.context("cuda").closed)
    """
    assert run(program) == "False\n"


def test_a_forked_child(run: Any) -> None:
    program = """
        import os, samebytes
        from samebytes.errors import NativeError
        context = samebytes.context("cuda")
        tensor = context.allocate((16,))
        child = os.fork()
        if not child:
            for use in (lambda: context.allocate((4,)), lambda: tensor.map("cpu", copy=True)):
                try:
                    use()
                except NativeError as error:
                    print("spawn" in str(error), flush=True)
            del tensor
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        tensor.map("cpu", copy=True)
    """
    assert run(program).split() == ["True", "True"]


def test_exit_with_living_memory(run: Any) -> None:
    program = """
        import numpy as np, samebytes
        context = samebytes.context("cuda")
        kinds = "device", "managed", "exportable"
        kept = [context.allocate((1 << 20,), "uint8", kind) for kind in kinds]
        array = np.asarray(context.allocate((64,), "uint8", "pinned"))
        there = samebytes.context("cpu").allocate((4096,)).map("cuda")
        print("end")
    """
    assert run(program) == "end\n"


def test_an_empty_array_where_there_is_no_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    class Empty:
        __cuda_array_interface__: ClassVar = {
            "shape": (0,), "typestr": "|u1", "data": (0, False), "version": 3,
        }  # fmt: skip

    def missing(_: int) -> None:
        raise RuntimeError("Ensure the NVIDIA display driver is installed")

    monkeypatch.setattr(_driver, "_initialized_in", [0])
    monkeypatch.setattr(_driver.driver, "cuInit", missing)
    monkeypatch.setattr(_context, "_homes", {})
    monkeypatch.setattr(_context, "_retain", _context._retain.__wrapped__)
    with pytest.raises(
        MissingDependencyError, match=r"the library libcuda.so.1 of NVIDIA's driver"
    ):
        samebytes.tensor(Empty())


def test_importing_loads_no_driver(run: Any) -> None:
    program = """
        import sys
        import samebytes, samebytes_cuda
        samebytes.tensor(b"1234")
        print([name for name in sys.modules if name.split(".")[0] == "cuda"])
    """
    assert run(program) == "[]\n"
