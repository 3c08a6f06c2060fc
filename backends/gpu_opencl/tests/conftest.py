# SPDX-License-Identifier: Apache-2.0
"""The device under test: any OpenCL device of this machine, or the software GPU."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any

import pytest

import samebytes
from samebytes import Context
from samebytes.testing import missing_device

pyopencl = pytest.importorskip("pyopencl", reason="missing package pyopencl: pip install pyopencl")

NO_DEVICE = missing_device("GPU")


@pytest.fixture(scope="session")
def device_name() -> str:
    """The name of one OpenCL device, a GPU if possible."""
    from samebytes_gpu_opencl._devices import device_names

    names = sorted(device_names(), key=lambda name: not name.startswith("GPU"))
    if not names:
        pytest.skip(NO_DEVICE)
    return names[0]


@pytest.fixture
def opencl(device_name: str) -> Iterator[Any]:
    """An OpenCLContext with a cl_context of its own."""
    import samebytes_gpu_opencl
    from samebytes_gpu_opencl._devices import find_device

    native = pyopencl.Context([find_device(device_name)])
    context = samebytes_gpu_opencl.context(native)
    yield context
    gc.collect()


@pytest.fixture
def alignment(opencl: Any) -> int:
    """The bytes of CL_DEVICE_MEM_BASE_ADDR_ALIGN: sub-buffers begin at multiples of them."""
    return max(int(opencl.native_device.mem_base_addr_align) // 8, 1)


@pytest.fixture
def usm(opencl: Any) -> Any:
    """The same context; the test is skipped if the device has no USM."""
    name = "cl_intel_unified_shared_memory"
    if name not in opencl.native_device.extensions.split():
        pytest.skip(f"device has no {name}")
    return opencl


@pytest.fixture
def unified(opencl: Any) -> Any:
    """The same context; the test is skipped if the device does not work in host memory."""
    if not opencl.native_device.host_unified_memory:
        pytest.skip("device has its own memory: nothing on the host is shared with it")
    return opencl


@pytest.fixture
def kernel() -> Callable[..., Any]:
    """Compile a kernel: kernel(context, source) returns the one named "run"."""

    def compile_(context: Any, source: str) -> Any:
        # Drivers report their compilers' output as a warning, which is not a warning of ours.
        import warnings

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return pyopencl.Kernel(pyopencl.Program(context.native, source).build(), "run")

    return compile_


@pytest.fixture
def references() -> Callable[[Any], int]:
    """A function that counts the references to a pyopencl object's handle."""

    def count(native: Any) -> int:
        gc.collect()
        return int(native.reference_count)

    return count


@pytest.fixture
def child() -> Callable[..., str]:
    """Run code in a fresh interpreter, and return its output.

    If variables are passed, only these lead to a driver: those of a software device are removed.
    """

    def run(code: str, **variables: str) -> str:
        environment = dict(os.environ)
        if variables:
            for name in ("OCL_ICD_FILENAMES", "OPENCL_LAYERS", "LD_PRELOAD", "LD_LIBRARY_PATH"):
                environment.pop(name, None)
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True,
            timeout=120, check=False, env={**environment, **variables},
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


def _declared() -> Any:
    """The module in which the plugin makes its declarations."""
    (plugin,) = entry_points(group="samebytes.plugins", name="opencl")
    return plugin.load()


def _named(name: str) -> Any:
    module, _, attribute = name.partition(":")
    return getattr(import_module(module), attribute)


@pytest.fixture
def probe() -> Callable[[], Any]:
    """The probe that the plugin declares, in this process: `samebytes.probe` runs it in a child."""
    found: Callable[[], Any] = _named(_declared().PLUGIN.probe)
    return found


@pytest.fixture
def edge() -> Callable[[str, Any, Any], Any]:
    """One declared edge by the name of its class: edge(name, source, target)."""

    def make(name: str, source: Any, target: Any) -> Any:
        spec = next(s for s in _declared().samebytes_mappers() if s.mapper.endswith(f":{name}"))
        return _named(spec.mapper)(spec, source, target)

    return make


@pytest.fixture
def gate(opencl: Any) -> Iterator[Any]:
    """A user event that is not set. It is set at the end, so that no queue waits forever."""
    event = pyopencl.UserEvent(opencl.native)
    yield event
    if event.command_execution_status > pyopencl.command_execution_status.COMPLETE:
        event.set_status(pyopencl.command_execution_status.COMPLETE)


class Foreign(Context):
    """Memory of another framework that offers only handles."""

    memory_type = "foreign"
    node = "foreign"


class ForeignTensor(samebytes.Tensor):
    """A tensor whose native is a dictionary of handles."""

    __slots__ = ()

    def _handle(self, key: str) -> int | None:
        native: dict[str, int] = self.native
        return native.get(key)


@pytest.fixture
def foreign() -> Callable[..., ForeignTensor]:
    """foreign(cl_context, info, cl_mem=..., offset=...) is a tensor of another framework."""

    def make(
        cl_context: int, info: Any, cl_queue: int | None = None, **handles: int
    ) -> ForeignTensor:
        queue = {} if cl_queue is None else {"cl_queue": cl_queue}
        context = Foreign(handles={"cl_context": cl_context, **queue})
        return ForeignTensor.borrowed(handles, context, info=info)

    return make
