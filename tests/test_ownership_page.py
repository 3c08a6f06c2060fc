# SPDX-License-Identifier: Apache-2.0
"""The situations in the table of a page on ownership, and what the texts say of others."""

from __future__ import annotations

import gc
import re
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import samebytes as sb
from samebytes import Storage
from samebytes.errors import ClosedError, SamebytesError
from samebytes.plugins import sweep_loans

PAGE = Path(__file__).parents[1] / "docs/explanation/ownership-questions.md"


def gone(thing: Any) -> weakref.ref[Any]:
    """To ask whether an object still exists."""
    return weakref.ref(thing)


def released(tensor: Any) -> weakref.ref[Any]:
    """To ask whether the owner of a tensor's memory still exists."""
    assert isinstance(tensor.storage, Storage)
    return weakref.ref(tensor.storage)


@pytest.fixture
def opencl() -> sb.Context:
    """A context from which a mapping to the CPU is a call of the driver."""
    pytest.importorskip("samebytes_gpu_opencl", reason="needs samebytes-gpu-opencl")
    try:
        return sb.context("opencl")
    except SamebytesError as error:
        pytest.skip(str(error))


class Array(np.ndarray[Any, Any]):
    """An array of the user's, whose end can be seen."""


def array() -> Array:
    return np.zeros((4, 4), np.uint8).view(Array)


CONTRACT = PAGE.with_name("ownership.md")


def test_the_contract_is_one_screen() -> None:
    text = CONTRACT.read_text()
    assert len(text.splitlines()) <= 75
    headings = re.findall(r"^## (.+)$", text, re.MULTILINE)
    assert headings == ["close()", "Interruption", "What stays"]
    assert re.findall(r"^\| (True|False|None) \|", text, re.MULTILINE) == ["True", "False", "None"]


def test_the_table_has_these_situations() -> None:
    rows = re.findall(r"^\| (\d+) \|", PAGE.read_text(), re.MULTILINE)
    tests = [name for name in globals() if re.match(r"test_\d+_", name)]
    assert [int(n) for n in rows] == [int(name.split("_")[1]) for name in tests]


def test_1_only_the_mapping_of_my_array_is_left() -> None:
    mine = array()
    mapped: Any = sb.tensor(mine).map("cpu", "rw")
    end = gone(mine)
    del mine
    assert end() is not None
    del mapped
    assert end() is None


def test_2_only_a_row_of_an_allocated_tensor_is_left() -> None:
    tensor: Any = sb.context("cpu").allocate((4, 4))
    end, row = released(tensor), tensor.native[1]
    del tensor
    row[:] = 1
    assert end() is not None
    del row
    assert end() is None


def test_3_close_while_an_array_of_it_is_held() -> None:
    tensor: Any = sb.context("cpu").allocate((4, 4))
    end, row = released(tensor), tensor.native[1]
    assert tensor.close() is False
    row[:] = 1
    assert end() is not None
    del row
    assert end() is None


def test_4_close_while_a_mapping_is_open(opencl: sb.Context) -> None:
    buffer = opencl.allocate((4, 4))
    view = buffer.map("cpu", "rw")
    ends = [released(view), released(buffer)]
    assert buffer.close() is False
    view.native[...] = 1
    assert all(end() is not None for end in ends)
    assert view.close() is True
    assert [end() for end in ends] == [None, None]


def test_5_an_array_that_is_kept_beyond_its_block(opencl: sb.Context) -> None:
    buffer = opencl.allocate((4, 4))
    with buffer.map("cpu", "rw") as view:
        kept, end = view.native, released(view)
    assert view.closed
    kept[...] = 5
    assert end() is not None
    del kept, view
    assert end() is None
    assert buffer.map("cpu").native.sum() == 80


def test_6_a_copy_and_its_source() -> None:
    tensor = sb.context("cpu").allocate((4, 4))
    padded = sb.tensor(tensor.native[:, :2])
    copy = np.array(padded)
    padded.close()
    tensor.close()
    assert copy.sum() == 0


def test_7_close_of_one_plane() -> None:
    frame = sb.context("cpu").allocate_frame("NV12", 16, 16)
    luma, chroma = frame.planes
    chroma.close()
    with pytest.raises(ClosedError):
        _ = chroma.native
    luma.native[...] = 1
    assert not frame.closed
    frame.close()
    assert luma.closed


def test_8_close_of_the_context(opencl: Any) -> None:
    import pyopencl

    import samebytes_gpu_opencl

    device: Any = opencl.native.devices[0]
    context: Any = samebytes_gpu_opencl.context(pyopencl.Context([device]))  # others use `opencl`
    tensor = context.allocate((4, 4))
    tensor.map("cpu", "rw").native[...] = 1
    end = released(tensor)
    context.close()
    assert end() is not None
    tensor.close()
    assert end() is None


def test_9_a_consumer_of_dlpack_holds_the_memory() -> None:
    tensor = sb.context("cpu").allocate((4, 4))
    end, consumer = released(tensor), np.from_dlpack(tensor)
    assert tensor.close() is False
    assert end() is not None
    del consumer
    assert end() is None


def test_10_a_holder_in_a_reference_cycle() -> None:
    tensor = sb.context("cpu").allocate((4, 4))
    cycle: list[Any] = [tensor.native]
    cycle.append(cycle)
    gc.disable()  # its turn may come at any allocation
    try:
        del cycle
        end = released(tensor)
        assert tensor.close() is False
        assert end() is not None
    finally:
        gc.enable()
    gc.collect()
    assert end() is None


def copied_part(opencl: sb.Context) -> tuple[Any, Any, Any]:
    """A frame, a part of it, and a copy of that: its padded rows cannot be an OpenCL buffer."""
    frame: Any = sb.context("cpu").allocate_frame("GRAY8", 64, 32)
    part = frame.crop(16, 16, 16, 16)
    copies = sb.stats().copies
    copy: Any = part.map(opencl, copy=True)
    assert sb.stats().copies > copies
    return frame, part, copy


def test_a_copy_holds_its_source_as_parent_alone(opencl: sb.Context) -> None:
    frame, part, copy = copied_part(opencl)
    end = released(frame)
    del frame, part
    assert end() is not None
    native = copy.native
    del copy
    assert end() is None
    del native


def test_the_source_of_a_copy_can_be_closed(opencl: sb.Context) -> None:
    frame, part, copy = copied_part(opencl)
    end = released(frame)
    part.close()
    frame.close()
    assert end() is None
    assert copy.parent.closed
    copy.map("cpu").close()


def test_a_copy_is_allowed_and_not_forced() -> None:
    tensor = sb.context("cpu").allocate((4, 4))
    assert np.shares_memory(tensor.native, tensor.map("cpu", copy=True).native)


def test_a_view_that_made_nothing_can_be_closed_under_another() -> None:
    memory = sb.context("cpu").allocate((4, 4))
    first = memory.map("cpu", "rw")
    second = first.map("cpu", "rw")
    end = released(memory)
    assert first.close() is None
    second.native[...] = 1
    assert memory.close() is False
    assert end() is not None
    second.close()
    assert end() is None


def test_what_a_closed_plane_is_needed_for() -> None:
    frame = sb.context("cpu").allocate_frame("NV12", 16, 16)
    held = frame.planes[1].native
    assert frame.planes[1].close() is None
    with pytest.raises(ClosedError):
        frame.crop(0, 0, 8, 8)
    assert frame.native[1] is held


def test_what_tensors_of_a_closed_context_can_do(opencl: Any) -> None:
    import pyopencl

    import samebytes_gpu_opencl

    device: Any = opencl.native.devices[0]
    context: Any = samebytes_gpu_opencl.context(pyopencl.Context([device]))
    tensor = context.allocate((4, 4))
    view = tensor.map("cpu", "rw")
    context.close()
    view.native[...] = 1
    view.flush()
    tensor.wait()
    assert tensor.native is not None
    view.close()
    assert tensor.map("cpu").native.max() == 1
    assert tensor.map(context).context is context
    with pytest.raises(ClosedError):
        context.allocate((4, 4))
    with pytest.raises(ClosedError):
        context.derive("opencl")


def test_a_block_whose_publishing_fails_is_closed_all_the_same() -> None:
    def fail() -> None:
        raise OSError("the driver refuses")

    memory = np.zeros(16, np.uint8)
    address: int = memory.ctypes.data
    storage = Storage(address=address, nbytes=16, keep=memory, flush=fail)
    context = sb.context("cpu")
    tensor = context.tensor_class.owned(np.asarray(storage), context, storage)
    with pytest.raises(OSError, match="refuses"), tensor:
        tensor.native[...] = 1
    assert tensor.closed


@pytest.mark.parametrize("device", ["GPU", "NPU"])
def test_a_region_of_a_remote_tensor(device: str) -> None:
    """It keeps the memory, and the source's close() says so though its view is closed."""
    openvino: Any = pytest.importorskip("openvino", reason="needs openvino")
    pytest.importorskip("samebytes_openvino", reason="needs samebytes-openvino")
    try:
        context = sb.context(f"openvino:{device}")
    except SamebytesError as error:
        pytest.skip(str(error))
    source = sb.context("cpu").allocate((4, 4096))
    view: Any = source.map(context, "rw")
    remote = isinstance(view.native, openvino.RemoteTensor)
    kind = openvino.RemoteTensor if remote else openvino.Tensor
    region = kind(view.native, openvino.Coordinate([1, 0]), openvino.Coordinate([2, 4096]))
    view.close()
    end = released(source)
    assert source.close() is False
    del source, view
    assert end() is not None
    del region
    sweep_loans()
    assert end() is None
