# SPDX-License-Identifier: Apache-2.0
"""Two components have the same context, neither in a block, and one of them closes it.

The other one keeps all that it has: objects read and map as before, to every node, and requests
run on. What is refused is new memory of that context.
"""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest

import samebytes
from samebytes.errors import ClosedError, SamebytesError, UnsupportedObjectError

from .sources import IMAGES, SOURCES, TARGETS, TENSORS, Item, Source

pytestmark = pytest.mark.usefixtures("devices")

_LAYOUTS = TENSORS | IMAGES
CASES = [(name, layout) for name, source in SOURCES.items() for layout in source.layouts[:1]]
CASES += [
    (name, layout)
    for name, source in SOURCES.items()
    for layout in source.layouts
    if layout == "NV12" and (name, layout) not in CASES
]


def what_works(item: Item) -> dict[str, str]:
    """By target, whether it maps, and to which bytes."""
    found = {}
    for target in (*TARGETS, item.context.node, item.context):
        name = target if isinstance(target, str) else "its own context"
        try:
            mapped = item.map(target, "r")
        except SamebytesError as error:
            found[name] = type(error).__name__
            continue
        assert isinstance(mapped, Item)
        if target == "cpu":
            planes: Any = getattr(mapped, "planes", (mapped,))
            found[name] = str([plane.native.tobytes()[:64] for plane in planes])
        else:
            found[name] = "maps"
        mapped.wait()
        mapped.close()
    return found


def fill(item: Item) -> None:
    try:
        with item.map("cpu", "w") as view:
            planes: Any = getattr(view, "planes", (view,))
            for number, plane in enumerate(planes):
                plane.native[...] = 7 + number
    except SamebytesError:  # device memory that the CPU cannot write, and read-only memory
        pass


@pytest.mark.parametrize(("name", "layout"), CASES, ids=str)
def test_what_another_holder_has(name: str, layout: str) -> None:
    source: Source = SOURCES[name]
    item = source.make(_LAYOUTS[layout])
    fill(item)
    what_works(item)  # contexts that its routes need are there from now on
    before = what_works(item)
    theirs, ours = item.context, item.context
    held = item.map(theirs, "r")
    ours.close()
    assert theirs.closed != theirs.shared
    assert what_works(item) == before
    assert what_works(held) == before
    item.flush()
    item.wait()
    assert repr(item)
    if theirs.closed:
        for make in (
            lambda: theirs.allocate((4,)),
            lambda: theirs.allocate_frame("NV12", 8, 4),
            lambda: theirs.derive(theirs.node),
        ):
            with pytest.raises((ClosedError, UnsupportedObjectError)):
                make()
    held.close()
    item.close()


def test_a_request_whose_context_another_component_closes() -> None:
    """It takes new inputs, runs, and gives its outputs."""
    import openvino
    import pyopencl
    from openvino import opset13 as ops

    from samebytes_openvino import InferRequest, compile_model
    from samebytes_openvino.intel_gpu import ClContext

    default = ClContext.default()
    devices = pyopencl.Context.from_int_ptr(default.get()).devices[:1]
    native = pyopencl.Context(devices)
    ours, theirs = ClContext.from_cl_context(native), ClContext.from_cl_context(native)
    x = ops.parameter([1, 16], np.float32, name="x")
    x.output(0).set_names({"x"})
    doubled = ops.result(ops.multiply(x, ops.constant(np.float32(2))))
    request = InferRequest(compile_model(openvino.Model([doubled], [x]), theirs))
    usm = theirs.create_usm_host_tensor("float32", (1, 16))
    ours.close()
    usm.host_array()[...] = 3
    array = samebytes.context("cpu").allocate((1, 16), "float32")
    array.native[...] = 5
    for given, result in ((usm, 6), (array, 10), (usm, 6)):
        request.set_tensor("x", given)
        request.infer()
        assert np.unique(request.get_output_tensor(0).map("cpu").native).tolist() == [result]
    assert usm.map("cpu").native.max() == 3
    again = ClContext.from_cl_context(native)
    assert again is not theirs
    again.allocate((4,)).close()


def test_a_closed_context_ends_with_the_last_that_uses_it() -> None:
    """Its native is given back then, by reference counting alone."""
    import weakref

    import pyopencl

    import samebytes_gpu_opencl

    default: Any = samebytes.context("opencl")
    context: Any = samebytes_gpu_opencl.context(pyopencl.Context(default.native.devices[:1]))
    tensor: Any = context.allocate((64, 64))
    context.close()
    native = weakref.ref(context)
    del context
    gc.disable()
    try:
        assert tensor.map("cpu").native.shape == (64, 64)
        del tensor
        assert native() is None
    finally:
        gc.enable()
