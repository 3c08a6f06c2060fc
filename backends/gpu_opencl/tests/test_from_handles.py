# SPDX-License-Identifier: Apache-2.0
"""From another framework's tensors, of which only the handles are known."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pyopencl as cl
import pytest

import samebytes
from samebytes import TensorInfo
from samebytes.errors import NoRouteError

BYTES = TensorInfo("uint8", (64,))


@pytest.fixture
def mapped(opencl: Any, edge: Callable[..., Any]) -> Callable[..., Any]:
    def run(tensor: Any, access: Any = "rw") -> Any:
        return edge("HandleToOpenCL", tensor.context, opencl).map(tensor, access)

    return run


def test_a_buffer(
    opencl: Any, mapped: Callable[..., Any], foreign: Callable[..., Any],
    references: Callable[[Any], int],
) -> None:  # fmt: skip
    buffer = cl.Buffer(opencl.native, cl.mem_flags.READ_WRITE, 64)
    cl.enqueue_fill_buffer(opencl.queue, buffer, np.array(5, np.uint8), 0, 64)
    before = references(buffer)
    source = foreign(opencl.native.int_ptr, BYTES, cl_mem=buffer.int_ptr)
    tensor = mapped(source)
    assert tensor.handle("cl_mem") == buffer.int_ptr
    assert tensor.parent is source
    assert references(buffer) == before + 2
    assert tensor.map("cpu").native.tolist() == [5] * 64
    tensor.close()
    del tensor
    assert references(buffer) == before


def test_a_region_at_an_offset(
    opencl: Any, alignment: int, mapped: Callable[..., Any], foreign: Callable[..., Any]
) -> None:
    buffer = cl.Buffer(opencl.native, cl.mem_flags.READ_WRITE, 4 * alignment)
    whole = samebytes.tensor(buffer)
    with whole.map("cpu", "w") as view:
        view.native[...] = np.arange(4 * alignment) // alignment
    context, info = opencl.native.int_ptr, TensorInfo("uint8", (8, 4), (8, 1))
    tensor = mapped(foreign(context, info, cl_mem=buffer.int_ptr, offset=2 * alignment))
    assert tensor.strides == (8, 1)
    assert np.unique(tensor.map("cpu").native).tolist() == [2]
    if alignment > 1:
        with pytest.raises(NoRouteError, match=f"not a multiple of {alignment}"):
            mapped(foreign(context, info, cl_mem=buffer.int_ptr, offset=1))
    with pytest.raises(NoRouteError, match="needs 60 bytes"):
        mapped(foreign(context, info, cl_mem=buffer.int_ptr, offset=4 * alignment - 8))


def test_images_keep_their_own_layout(
    opencl: Any, mapped: Callable[..., Any], foreign: Callable[..., Any]
) -> None:
    if not opencl.native_device.image_support:
        pytest.skip("device has no images: pytest --softdevices=gpu has some")
    image = opencl.allocate((16, 16), kind="image")
    info = TensorInfo("uint8", (1, 16, 16, 1), opaque=True)
    tensor = mapped(foreign(opencl.native.int_ptr, info, cl_mem=image.handle()))
    assert (tensor.shape, tensor.strides) == ((16, 16), None)


def test_usm(usm: Any, mapped: Callable[..., Any], foreign: Callable[..., Any]) -> None:
    owner = usm.allocate((128,), kind="usm_host")
    np.asarray(owner)[...] = np.arange(128)
    pointer = owner.handle("usm_ptr")
    source = foreign(usm.native.int_ptr, BYTES, usm_ptr=pointer + 32)
    tensor = mapped(source)
    assert tensor.kind == "usm_host"
    assert np.asarray(tensor)[0] == 32
    with pytest.raises(NoRouteError, match="ends 63 bytes after"):
        mapped(foreign(usm.native.int_ptr, BYTES, usm_ptr=pointer + 65))


def test_another_cl_context(
    opencl: Any, mapped: Callable[..., Any], foreign: Callable[..., Any]
) -> None:
    other = cl.Context([opencl.native_device])
    buffer = cl.Buffer(other, cl.mem_flags.READ_WRITE, 64)
    with pytest.raises(NoRouteError, match="derive"):
        mapped(foreign(other.int_ptr, BYTES, cl_mem=buffer.int_ptr))
    # It says that it is of this context, and is not.
    with pytest.raises(NoRouteError, match="own cl_context only"):
        mapped(foreign(opencl.native.int_ptr, BYTES, cl_mem=buffer.int_ptr))


def test_the_queue_of_the_other_framework_is_waited_for(
    opencl: Any, mapped: Callable[..., Any], foreign: Callable[..., Any], gate: Any
) -> None:
    buffer = cl.Buffer(opencl.native, cl.mem_flags.READ_WRITE, 64)
    queue = cl.CommandQueue(opencl.native)
    pending = cl.enqueue_barrier(queue, wait_for=[gate])
    queue.flush()
    complete = cl.command_execution_status.COMPLETE
    source = foreign(opencl.native.int_ptr, BYTES, queue.int_ptr, cl_mem=buffer.int_ptr)
    opener = threading.Timer(0.2, gate.set_status, [complete])
    opener.start()
    mapped(source)
    status = pending.command_execution_status
    opener.join()
    assert status == complete


def test_no_handles(opencl: Any, mapped: Callable[..., Any], foreign: Callable[..., Any]) -> None:
    with pytest.raises(NoRouteError, match="neither"):
        mapped(foreign(opencl.native.int_ptr, BYTES))
