# SPDX-License-Identifier: Apache-2.0
"""OpenVINO's own NPU plugin on the software NPU: memory that is shared with others."""

from __future__ import annotations

from collections.abc import Callable

from samebytes_softdevices import npu_trace

Run = Callable[..., str]


def test_remote_tensors_are_used_where_they_lie(openvino: Run, trace_file: str) -> None:
    """Each kind of remote tensor as input and as output; the graph got exactly their pointers."""
    printed = openvino(
        """
import ctypes, mmap
context = core.get_default_context("NPU")
request = core.compile_model(times(3), "NPU").create_infer_request()
shape, u8 = ov.Shape([1, 4096]), ov.Type.u8
def by_fd(usage):
    fd = os.memfd_create("tensor")
    os.ftruncate(fd, 4096)
    tensor = context.create_tensor(
        u8, shape, {"MEM_TYPE": "SHARED_BUF", "MEM_HANDLE": hex(fd), "TENSOR_TYPE": usage})
    view = np.frombuffer(mmap.mmap(fd, 4096), np.uint8)
    os.close(fd)
    return tensor, handle(tensor), view
def by_pointer(usage):
    memory = mmap.mmap(-1, 4096)
    view = np.frombuffer(memory, np.uint8)
    tensor = context.create_tensor(u8, shape, {"MEM_TYPE": "CPU_VA",
        "MEM_HANDLE": hex(view.ctypes.data), "TENSOR_TYPE": usage})
    assert handle(tensor) == view.ctypes.data
    return tensor, handle(tensor), view
def internal(usage):
    tensor = context.create_tensor(u8, shape, {"MEM_TYPE": "L0_INTERNAL_BUF", "TENSOR_TYPE": usage})
    address = handle(tensor)
    return tensor, address, np.frombuffer((ctypes.c_uint8 * 4096).from_address(address), np.uint8)
def host(usage):
    tensor = context.create_host_tensor(u8, shape)
    return tensor, tensor.data.ctypes.data, tensor.data.reshape(-1)
for make in (by_fd, by_pointer, internal, host):
    source, source_at, read = make("INPUT")
    result, result_at, written = make("OUTPUT")
    read[:] = np.arange(4096) % 80
    request.set_tensor("x", source)
    request.set_tensor("out0", result)
    request.start_async()
    request.wait()
    np.testing.assert_array_equal(written, read * 3)
    print(source_at, result_at)
""",
        SOFTNPU_TRACE=trace_file,
    )
    expected = [tuple(map(int, line.split())) for line in printed.splitlines()]
    runs = npu_trace(trace_file, "graph_execute")
    assert [run.pointers() for run in runs] == expected
    assert {run.number("result") for run in runs} == {0}


def test_another_process_writes_what_the_npu_reads(openvino: Run) -> None:
    openvino(
        """
import mmap
context = core.get_default_context("NPU")
request = core.compile_model(times(2), "NPU").create_infer_request()
fd = os.memfd_create("tensor")
os.ftruncate(fd, 4096)
tensor = context.create_tensor(ov.Type.u8, ov.Shape([1, 4096]),
    {"MEM_TYPE": "SHARED_BUF", "MEM_HANDLE": hex(fd), "TENSOR_TYPE": "INPUT"})
child = os.fork()
if child == 0:
    mmap.mmap(fd, 4096)[:3] = bytes([1, 2, 3])
    os._exit(0)
os.waitpid(child, 0)
request.set_tensor("x", tensor)
request.infer()
assert request.get_output_tensor(0).data[0, :4].tolist() == [2, 4, 6, 0]
"""
    )


def test_views_inside_an_import_are_used_in_place(openvino: Run, trace_file: str) -> None:
    printed = openvino(
        """
import ctypes
context = core.get_default_context("NPU")
request = core.compile_model(times(5, (1, 100)), "NPU").create_infer_request()
fd = os.memfd_create("frame")
os.ftruncate(fd, 8192)
whole = context.create_tensor(ov.Type.u8, ov.Shape([1, 8192]),
    {"MEM_TYPE": "SHARED_BUF", "MEM_HANDLE": hex(fd), "TENSOR_TYPE": "INPUT"})
at = handle(whole) + 4200
view = np.frombuffer((ctypes.c_uint8 * 100).from_address(at), np.uint8).reshape(1, 100)
view[:] = 7
request.set_tensor("x", ov.Tensor(view, shared_memory=True))
request.infer()
assert (request.get_output_tensor(0).data == 35).all()
print(at)
""",
        SOFTNPU_TRACE=trace_file,
    )
    (run,) = npu_trace(trace_file, "graph_execute")
    assert run.pointers()[0] == int(printed)


def test_a_missing_wait_shows(openvino: Run) -> None:
    openvino(
        """
context = core.get_default_context("NPU")
request = core.compile_model(times(2), "NPU").create_infer_request()
out = context.create_host_tensor(ov.Type.u8, ov.Shape([1, 4096]))
out.data[:] = 0
request.set_tensor("out0", out)
request.set_tensor("x", ov.Tensor(np.full((1, 4096), 4, np.uint8)))
request.start_async()
assert (out.data == 0).all()
request.wait()
assert (out.data == 8).all()
""",
        SOFTNPU_DELAY_US="1000000",
    )


def test_raw_level_zero_and_the_plugin_share_a_context(openvino: Run) -> None:
    """Memory that a program allocates in the plugin's context goes to it by an fd."""
    openvino(
        """
import ctypes as ct
zero = ct.CDLL("libze_loader.so.1")
pointer = ct.c_void_p
context = core.get_default_context("NPU")
handle_of_context = pointer(int(context.get_params()["L0_CONTEXT"].astype(str), 16))
class Desc(ct.Structure):
    _fields_ = [("stype", ct.c_uint32), ("next", pointer), ("flags", ct.c_uint32)]
class Fd(ct.Structure):
    _fields_ = [*Desc._fields_, ("fd", ct.c_int)]
class Properties(ct.Structure):
    _fields_ = [*Desc._fields_, ("id", ct.c_uint64), ("page", ct.c_uint64)]
export = Desc(0x18, None, 2)
memory = pointer()
assert zero.zeMemAllocHost(handle_of_context, ct.byref(Desc(0x16, ct.addressof(export), 0)),
                           ct.c_size_t(4096), ct.c_size_t(0), ct.byref(memory)) == 0
fd = Fd(0x1A, None, 2, -1)
assert zero.zeMemGetAllocProperties(handle_of_context, memory,
    ct.byref(Properties(0x17, ct.addressof(fd), 0)), None) == 0
tensor = context.create_tensor(ov.Type.u8, ov.Shape([1, 4096]),
    {"MEM_TYPE": "SHARED_BUF", "MEM_HANDLE": hex(fd.fd), "TENSOR_TYPE": "OUTPUT"})
os.close(fd.fd)
request = core.compile_model(times(7), "NPU").create_infer_request()
request.set_tensor("out0", tensor)
request.set_input_tensor(ov.Tensor(np.full((1, 4096), 3, np.uint8)))
request.start_async()
request.wait()
assert ct.string_at(memory, 4096) == bytes([21]) * 4096
del request, tensor
assert zero.zeMemFree(handle_of_context, memory) == 0
"""
    )
