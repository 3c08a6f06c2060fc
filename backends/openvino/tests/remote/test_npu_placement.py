# SPDX-License-Identifier: Apache-2.0
"""Placements on the NPU: bindings() agrees with the driver's trace of pointers.

The process that runs prints the addresses which the driver is expected to get, an input's and an
output's, or 0 for any.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import samebytes
from samebytes.errors import CopyRequiredError
from samebytes_openvino import InferRequest, compile_model

from .models import N, adding_one, unaligned

Arguments = Callable[[str], list[tuple[list[int], list[int]]]]

# How to make a tensor over N float32, its placement, and its address.
KINDS = {
    "remote": ("native(npu)", "in place", None),
    "whole pages": ("pages()", "imported", "address(made)"),
    "host tensor": ("host_tensor((1, N))", "in place", "address(made.data)"),
    "view in a host tensor": (
        "host_tensor((3 * N,)).data[16:16 + N].reshape(1, N)",
        "in place", "address(made)",
    ),
    "view in an import": ("imported[16:16 + N].reshape(1, N)", "in place", "address(made)"),
    "openvino.Tensor in an import": (
        "openvino.Tensor(imported[16:16 + N].reshape(1, N), shared_memory=True)",
        "in place", "address(made.data)",
    ),
    "another request's own tensor": (
        "InferRequest(model).get_tensor('x')", "in place", "address(made.host_array())",
    ),
}  # fmt: skip

SCRIPT = """
model = compile_model(adding_one(), npu)
imported = pages((3 * N,))
whole = npu.native.create_tensor(openvino.Type.u8, openvino.Shape([1, imported.nbytes]),
    {{"MEM_TYPE": "CPU_VA", "MEM_HANDLE": hex(address(imported))}})
request = InferRequest(model)
made = {make}
request.set_tensor("{name}", made)
where = {where}
(binding,) = [b for b in request.bindings() if b.name == "{name}"]
assert binding.placement == "{placement}", binding
del whole
for _ in range(2):
    print("expect", *(where, 0) if "{name}" == "x" else (0, where))
    request.infer()
"""


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["x", "y"])
def test_as_the_trace_shows(arguments_of: Arguments, kind: str, name: str) -> None:
    make, placement, where = KINDS[kind]
    script = SCRIPT.format(make=make, placement=placement, where=where or "0", name=name)
    runs = arguments_of(script)
    assert len(runs) == 2
    for expected, executed in runs:
        if where is not None:
            index = "xy".index(name)
            assert executed[index] == expected[index]


def test_regions_of_remote_tensors(arguments_of: Arguments) -> None:
    runs = arguments_of(
        """
        request = InferRequest(compile_model(adding_one(), npu))
        whole = native(npu, (2, N))
        begin = int(whole.get_params()["MEM_HANDLE"].astype(str), 16)
        for row in range(2):
            corners = openvino.Coordinate([row, 0]), openvino.Coordinate([row + 1, N])
            request.set_tensor("x", openvino.RemoteTensor(whole, *corners))
            print("expect", begin + row * N * 4)
            request.infer()
        """
    )
    assert len(runs) == 2
    for expected, executed in runs:
        assert executed[0] == expected[0]


def test_inputs_that_are_not_whole_pages(arguments_of: Arguments) -> None:
    """Inputs that the plugin itself would copy: the pages around them are imported instead."""
    runs = arguments_of(
        """
        request = InferRequest(compile_model(adding_one((1, 1000)), npu))
        x = pages((1, 1000), 100)
        x[...] = numbers((1, 1000))
        where = address(x)
        request.set_tensor("x", x)
        assert request.bindings()[0].placement == "in place"
        del x
        for _ in range(2):
            print("expect", where)
            (y,) = request.infer()
            assert (np.asarray(y) == numbers((1, 1000), 1)).all()
        assert samebytes.stats().copies == 0
        """
    )
    assert len(runs) == 2
    for expected, executed in runs:
        assert executed[0] == expected[0]


def test_what_the_plugin_would_copy_is_copied_here(arguments_of: Arguments) -> None:
    """An array on a page of which the NPU holds a part."""
    (run,) = arguments_of(
        """
        from samebytes.errors import CopyRequiredError
        request = InferRequest(compile_model(adding_one((1, 1000)), npu))
        arena = page_aligned(3 * 4096)
        held = samebytes.tensor(np.frombuffer(arena.data, np.uint8, 10)).map(npu)
        values = np.frombuffer(arena.data, np.float32, 1000, 3000).reshape(1, 1000)
        values[...] = numbers((1, 1000))
        try:
            request.set_tensor("x", values)
        except CopyRequiredError as error:
            assert "whole pages of 4096 bytes" in str(error), error
            assert "shares a page with other memory" in str(error), error
        else:
            raise AssertionError("taken")
        request.set_tensor("x", values, copy=True)
        assert request.bindings()[0].placement == "copied"
        assert samebytes.stats().copied_bytes == 4000
        given = request.native.get_tensor("x")
        print("expect", address(given.data))
        (y,) = request.infer()
        assert (np.asarray(y) == values + 1).all()
        assert samebytes.stats().copies == 1
        """
    )
    assert run[0][0] == run[1][0]


def test_the_plugin_copies_ordinary_memory(arguments_of: Arguments) -> None:
    """The control: without a word, and to its own memory."""
    (run,) = arguments_of(
        """
        plain = compile_model(adding_one((1, 1000)), npu).create_infer_request()
        held = openvino.Tensor(numbers((1, 1000)))
        plain.set_tensor("x", held)
        print("expect", address(held.data))
        plain.infer()
        """
    )
    assert run[0][0] != run[1][0]


def test_an_import_lives_as_long_as_it_is_bound(arguments_of: Arguments) -> None:
    """One import, not one for each inference; and the view stays known when the whole is gone."""
    runs = arguments_of(
        """
        import gc
        request = InferRequest(compile_model(adding_one(), npu))
        x = pages()
        where = address(x)
        request.set_tensor("x", x)
        del x
        gc.collect()
        for _ in range(3):
            print("expect", where)
            request.infer()
        """
    )
    assert len({executed[0] for _, executed in runs}) == 1
    assert all(expected[0] == executed[0] for expected, executed in runs)


def test_memory_that_cannot_be_written(arguments_of: Arguments, tmp_path: Any) -> None:
    """A file's pages, mapped for reading: an input that is not a copy."""
    file = tmp_path / "input"
    np.full(N, 6, np.float32).tofile(file)
    (run,) = arguments_of(
        f"""
        request = InferRequest(compile_model(adding_one(), npu))
        with open({str(file)!r}, "rb") as file:
            memory = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        x = np.frombuffer(memory, np.float32).reshape(1, N)
        request.set_tensor("x", x)
        assert request.bindings()[0].placement == "imported"
        print("expect", address(x))
        (y,) = request.infer()
        assert (np.asarray(y) == 7).all()
        """
    )
    assert run[0][0] == run[1][0]


def test_outputs_that_the_plugin_copies_are_counted(npu: Any) -> None:
    request = InferRequest(compile_model(adding_one((1, 10)), npu))
    y = unaligned((1, 10))
    with pytest.raises(CopyRequiredError):
        request.set_tensor("y", y)
    request.set_tensor("y", y, copy=True)
    samebytes.reset_stats()
    for _ in range(2):
        with request.get_tensor("x").map("cpu", "w") as view:
            view.native[...] = 6
        request.infer()
    assert (y == 7).all()
    assert samebytes.stats().by_edge["openvino -> output 'y'"].copies == 2
