# SPDX-License-Identifier: Apache-2.0
"""Memory of devices in forked children, by samebytes.copied(): copied before, for them alone."""

from __future__ import annotations

import os

import pytest

import samebytes

NODES = ["dma", "opencl", "level_zero", "openvino:GPU", "openvino:NPU", "opencv_umat", "sycl"]


def first_byte_in_a_child(given: samebytes.Tensor) -> int:
    """Return the first byte as a child finds it; the child writes to it, if it can."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        try:
            assert given.memory_type == "cpu"
            os.write(writing, given.map("cpu").native.tobytes()[:1])
            if not given.readonly:
                given.native[...] = 99
            os._exit(0)
        finally:
            os._exit(99)
    os.close(writing)
    with os.fdopen(reading, "rb") as file:
        found = file.read()
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    return found[0]


@pytest.mark.usefixtures("devices")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.parametrize("node", NODES)
def test_a_forked_child_has_a_copy_in_memory_of_the_cpu(node: str) -> None:
    if node == "dma":
        item = samebytes.context(node).allocate((64, 64))
        with item.map("cpu", "w") as view:
            view.native[...] = 7
    else:
        source = samebytes.context("cpu").allocate((64, 64))
        source.native[...] = 7
        item = source.map(node, copy=True)
    given = samebytes.copied(item)
    for _ in range(2):
        assert first_byte_in_a_child(given) == 7
    assert item.map("cpu", copy=True).native.tobytes()[:1] == b"\x07"
    samebytes.reset_stats()
