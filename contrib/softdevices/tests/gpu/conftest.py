# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the tests of the software GPU: the device, and OpenCL's extension functions."""

from __future__ import annotations

import ctypes
import gc
import os
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from samebytes_softdevices import gpu_live_imports
from samebytes_softdevices._gpu import LAYER
from samebytes_softdevices._libraries import _FOLDER

_HANDLE = ctypes.c_void_p
_UINT = ctypes.c_uint


def _package(name: str, distribution: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        pytest.skip(f"missing package {name}: pip install {distribution}")


@pytest.fixture(autouse=True)
def gpu() -> None:
    """Every test here needs the device."""
    if str(_FOLDER / LAYER) not in os.environ.get("OPENCL_LAYERS", "").split(":"):
        pytest.skip(
            "missing device GPU: pytest --softdevices=gpu (pip install samebytes-softdevices)"
        )


@pytest.fixture
def layer_file() -> Path:
    """The layer that the OpenCL loaders of this process use."""
    return _FOLDER / LAYER


@pytest.fixture
def np() -> Any:
    return _package("numpy", "numpy")


@pytest.fixture
def cl() -> Any:
    return _package("pyopencl", "pyopencl")


@pytest.fixture
def ov() -> Any:
    return _package("openvino", "openvino")


@pytest.fixture
def cv2() -> Any:
    return _package("cv2", "opencv-python-headless")


@pytest.fixture
def build(cl: Any) -> Callable[[Any, str], Any]:
    """Build a program, ignoring pyopencl's warning about the compiler's report on vectorisation."""
    import warnings

    def build(context: Any, source: str) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", cl.CompilerWarning)
            return cl.Program(context, source).build()

    return build


@pytest.fixture
def device(cl: Any) -> Any:
    (platform,) = cl.get_platforms()
    (device,) = platform.get_devices()
    return device


@pytest.fixture
def context(cl: Any, device: Any) -> Any:
    return cl.Context([device])


@pytest.fixture
def queue(cl: Any, context: Any) -> Any:
    return cl.CommandQueue(context)


class OpenCL:
    """Functions that pyopencl lacks. Those that make an object return (handle, error)."""

    def __init__(self, platform: int) -> None:
        # A loader other than pyopencl's: the objects of one can be used with the other.
        self.loader = ctypes.CDLL("libOpenCL.so.1")
        self._platform = platform

    def function(self, name: str, result: Any, *arguments: Any) -> Callable[..., Any]:
        find = self.loader.clGetExtensionFunctionAddressForPlatform
        find.argtypes, find.restype = [_HANDLE, ctypes.c_char_p], _HANDLE
        address = find(self._platform, name.encode())
        assert address, f"{name} is not there"
        made: Callable[..., Any] = ctypes.CFUNCTYPE(result, *arguments)(address)
        return made

    def buffer_of_fd(
        self, context: int, fd: int, size: int, flags: int = 1, host: int | None = None
    ) -> tuple[int, int]:
        properties = (ctypes.c_uint64 * 3)(0x2067, fd, 0)
        return self.buffer_with(context, properties, size, flags, host)

    def buffer_with(
        self, context: int, properties: Any, size: int, flags: int = 1, host: int | None = None
    ) -> tuple[int, int]:
        create = self.loader.clCreateBufferWithProperties
        create.restype = _HANDLE
        create.argtypes = [_HANDLE, _HANDLE, ctypes.c_uint64, ctypes.c_size_t, _HANDLE, _HANDLE]
        error = ctypes.c_int(1)
        made = create(context, ctypes.addressof(properties), flags, size, host, ctypes.byref(error))
        return made or 0, error.value

    def image_of_fd(
        self, context: int, fd: int, width: int, height: int, pitch: int
    ) -> tuple[int, int]:
        create = self.loader.clCreateImageWithProperties
        create.restype = _HANDLE
        create.argtypes = [
            _HANDLE,
            _HANDLE,
            ctypes.c_uint64,
            _HANDLE,
            _HANDLE,
            _HANDLE,
            _HANDLE,
        ]
        properties = (ctypes.c_uint64 * 3)(0x2067, fd, 0)
        image_format = (_UINT * 2)(0x10B0, 0x10DA)  # CL_R, CL_UNSIGNED_INT8
        # cl_image_desc: the type (CL_MEM_OBJECT_IMAGE2D), width, height, depth, array size, row
        # pitch, slice pitch; then two counts and a memory object, all zero.
        description = (ctypes.c_size_t * 9)(0x10F1, width, height, 0, 0, pitch, 0, 0, 0)
        error = ctypes.c_int(1)
        made = create(context, properties, 1, image_format, description, None, ctypes.byref(error))
        return made or 0, error.value

    def change_hands(self, name: str, queue: int, *objects: int) -> int:
        """Call clEnqueueAcquire... or clEnqueueRelease..., which all have the same prototype."""
        function = self.function(
            name, ctypes.c_int, _HANDLE, _UINT, _HANDLE, _UINT, _HANDLE, _HANDLE
        )
        handles = (_HANDLE * len(objects))(*objects)
        result: int = function(queue, len(objects), handles if objects else None, 0, None, None)
        return result

    def context_of_display(self, device: int, display: int) -> int:
        create = self.loader.clCreateContext
        create.restype = _HANDLE
        create.argtypes = [_HANDLE, _UINT, _HANDLE, _HANDLE, _HANDLE, _HANDLE]
        # CL_CONTEXT_PLATFORM, CL_CONTEXT_VA_API_DISPLAY_INTEL
        properties = (ctypes.c_ssize_t * 5)(0x1084, self._platform, 0x4097, display, 0)
        error = ctypes.c_int(1)
        made = create(properties, 1, ctypes.byref(_HANDLE(device)), None, None, ctypes.byref(error))
        assert error.value == 0
        return made or 0

    def image_of_surface(
        self, context: int, surface: int, plane: int, flags: int = 1
    ) -> tuple[int, int]:
        create = self.function(
            "clCreateFromVA_APIMediaSurfaceINTEL",
            _HANDLE,
            _HANDLE,
            ctypes.c_uint64,
            _HANDLE,
            _UINT,
            _HANDLE,
        )
        error = ctypes.c_int(1)
        number = _UINT(surface)
        made = create(context, flags, ctypes.addressof(number), plane, ctypes.addressof(error))
        return made or 0, error.value


@pytest.fixture
def opencl(device: Any) -> OpenCL:
    return OpenCL(device.platform.int_ptr)


@pytest.fixture
def no_leak() -> Iterator[None]:
    """Check that the test left no living import and no open or mapped memfd behind."""

    def found() -> tuple[int, int, int]:
        gc.collect()  # what earlier tests left to the collector goes before, too
        # The descriptor that lists the folder is gone when its own entry is read.
        links = [link for link in Path("/proc/self/fd").iterdir() if link.is_symlink()]
        maps = Path("/proc/self/maps").read_text()
        opened = sum(str(link.readlink()).startswith("/memfd:") for link in links)
        return gpu_live_imports(), opened, maps.count("/memfd:")

    before = found()
    yield
    assert found() == before


@pytest.fixture
def run_python() -> Callable[..., str]:
    """Run a script in its own process, on the same devices, and return its output."""
    import subprocess

    def run(script: str, **environment: str) -> str:
        done = subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run
