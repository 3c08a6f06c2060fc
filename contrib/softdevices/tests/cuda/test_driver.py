# SPDX-License-Identifier: Apache-2.0
"""The software CUDA driver under the real cuda-bindings."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import pytest


def test_devices(cuda: Any) -> None:
    script = """
        print(ok(cu.cuDeviceGetCount()), ok(cu.cuDeviceGetName(64, 0)).split(b"\\0")[0].decode())
        print(code(cu.cuDeviceGet(9)), code(cu.cuDeviceGetAttribute(cu.CUdevice_attribute(152), 0)))
    """
    assert cuda(script).stdout.splitlines() == [
        "2 samebytes software CUDA device",
        "ERROR_INVALID_DEVICE ERROR_INVALID_VALUE",
    ]
    variables = {"SOFTCUDA_DEVICES": "3", "SOFTCUDA_DMA_BUF_MMAP": "1"}
    assert cuda(script, **variables).stdout.splitlines()[0].startswith("3 ")
    assert cuda(script, **variables).stdout.splitlines()[1] == "ERROR_INVALID_DEVICE SUCCESS"


def test_device_memory_is_not_the_cpus(cuda: Any) -> None:
    for touch in ("ctypes.string_at(address, 1)", "ctypes.memset(address, 1, 1)"):
        cuda(
            f"""
            address = int(ok(cu.cuMemAlloc(64)))
            {touch}
            """,
            status=-signal.SIGSEGV,
        )


def test_streams_run_apart_and_in_order(cuda: Any) -> None:
    script = """
        one, other = ok(cu.cuStreamCreate(1)), ok(cu.cuStreamCreate(1))
        address = int(ok(cu.cuMemAlloc(64)))
        ok(cu.cuMemsetD8(address, 1, 64)), ok(cu.cuCtxSynchronize())
        sleep(one, 200_000)
        ok(cu.cuMemsetD8Async(address, 2, 64, one))
        print(read(address, 1)[0], code(cu.cuStreamQuery(one)))
        event = ok(cu.cuEventCreate(0))
        ok(cu.cuEventRecord(event, one)), ok(cu.cuStreamWaitEvent(other, event, 0))
        print(code(cu.cuEventQuery(event)))
        ok(cu.cuStreamSynchronize(other))
        print(read(address, 1)[0], code(cu.cuEventQuery(event)))
        sleep(one, 200_000)
        ok(cu.cuCtxRecordEvent(context, event))
        print(code(cu.cuEventQuery(event)), code(cu.cuEventSynchronize(event)))
        print(code(cu.cuStreamQuery(one)))
    """
    assert cuda(script).stdout.splitlines() == [
        "1 ERROR_NOT_READY",
        "ERROR_NOT_READY",
        "2 SUCCESS",
        "ERROR_NOT_READY SUCCESS",
        "SUCCESS",
    ]


def test_the_legacy_default_stream(cuda: Any) -> None:
    """It waits for blocking streams and they for it; not for those that do not block."""
    script = """
        blocking = ok(cu.cuStreamCreate(0))
        address = int(ok(cu.cuMemAlloc(64)))
        for stream in (blocking, side):
            ok(cu.cuMemsetD8(address, 1, 64)), ok(cu.cuCtxSynchronize())
            sleep(stream, 200_000)
            ok(cu.cuMemsetD8Async(address, 2, 64, stream))
            data = ctypes.create_string_buffer(1)
            ok(cu.cuMemcpyDtoH(ctypes.addressof(data), address, 1))
            print(data.raw[0])
        ok(cu.cuCtxSynchronize())
        sleep(1, 200_000)
        ok(cu.cuMemsetD8Async(address, 3, 64, 1))
        ok(cu.cuMemcpyDtoHAsync(ctypes.addressof(data), address, 1, blocking))
        print(data.raw[0])
    """
    assert cuda(script).stdout.split() == ["2", "1", "3"]


def test_memory_freed_while_a_stream_uses_it(cuda: Any) -> None:
    script = """
        address, other = int(ok(cu.cuMemAlloc(64))), int(ok(cu.cuMemAlloc(64)))
        sleep(side, 100_000)
        ok(cu.cuMemcpyDtoDAsync(other, address, 64, side))
        ok(cu.cuMemFree(address))
        print(code(cu.cuStreamSynchronize(side)), code(cu.cuMemAlloc(64)))
    """
    assert cuda(script).stdout.split() == ["ERROR_ILLEGAL_ADDRESS"] * 2


def test_bounds_of_copies(cuda: Any) -> None:
    script = """
        address = int(ok(cu.cuMemAlloc(64)))
        data = ctypes.create_string_buffer(128)
        here = ctypes.addressof(data)
        print(code(cu.cuMemcpyHtoD(address, here, 65)))
        print(code(cu.cuMemcpyHtoD(address + 60, here, 5)))
        print(code(cu.cuMemcpyDtoD(address, here, 4)), code(cu.cuMemcpyHtoD(address, here, 64)))
        ok(cu.cuMemFree(address))
        print(code(cu.cuMemcpyHtoD(address, here, 64)), code(cu.cuMemFree(address)))
    """
    wrong = "ERROR_INVALID_VALUE"
    assert cuda(script).stdout.split() == [wrong, wrong, wrong, "SUCCESS", wrong, wrong]


def test_two_mappings_of_one_exported_allocation(cuda: Any) -> None:
    script = """
        size = 2 << 20
        p = cu.CUmemAllocationProp()
        p.type = cu.CUmemAllocationType.CU_MEM_ALLOCATION_TYPE_PINNED
        p.location.type = cu.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE
        kind = cu.CUmemAllocationHandleType.CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR
        p.requestedHandleTypes = kind
        first = ok(cu.cuMemCreate(size, p, 0))
        fd = ok(cu.cuMemExportToShareableHandle(first, kind, 0))
        second = ok(cu.cuMemImportFromShareableHandle(int(fd), kind))
        os.close(int(fd))
        access = cu.CUmemAccessDesc()
        access.location = p.location
        access.flags = cu.CUmemAccess_flags.CU_MEM_ACCESS_FLAGS_PROT_READWRITE
        places = []
        for handle in (first, second):
            place = int(ok(cu.cuMemAddressReserve(size, 0, 0, 0)))
            ok(cu.cuMemMap(place, size, 0, handle, 0))
            print(code(cu.cuMemsetD8(place, 1, 64)))
            ok(cu.cuMemSetAccess(place, size, [access], 1))
            places.append(place)
        ok(cu.cuMemsetD8(places[0], 7, 64)), ok(cu.cuCtxSynchronize())
        print(read(places[1], 1)[0])
        for place, handle in zip(places, (first, second)):
            ok(cu.cuMemUnmap(place, size)), ok(cu.cuMemAddressFree(place, size))
            ok(cu.cuMemRelease(handle))
        print(code(cu.cuMemRelease(first)))
    """
    wrong = "ERROR_INVALID_VALUE"
    assert cuda(script).stdout.split() == [wrong, wrong, "7", wrong]


def test_functions_of_the_host_cannot_call_the_driver(cuda: Any) -> None:
    script = """
        said = []
        @ctypes.CFUNCTYPE(None, ctypes.c_void_p)
        def function(_):
            said.append(code(cu.cuMemAlloc(64)))
        address = ctypes.cast(function, ctypes.c_void_p).value
        ok(cu.cuLaunchHostFunc(side, cu.CUhostFn(address), 0))
        ok(cu.cuStreamSynchronize(side))
        print(*said)
    """
    assert cuda(script).stdout.split() == ["ERROR_NOT_PERMITTED"]


def test_a_forked_child(cuda: Any) -> None:
    script = """
        sleep(side, 100_000)
        child = os.fork()
        if not child:
            answers = cu.cuInit(0), cu.cuMemAlloc(64), cu.cuCtxSynchronize(), cu.cuDeviceGetCount()
            print(*map(code, answers), flush=True)
            os._exit(0)
        os.waitpid(child, 0)
        print(code(cu.cuCtxSynchronize()))
    """
    assert cuda(script).stdout.split() == ["ERROR_NOT_INITIALIZED"] * 4 + ["SUCCESS"]


def test_what_it_does_not_have(cuda: Any) -> None:
    script = """
        print(code(cu.cuMemAllocAsync(64, side)), code(cu.cuModuleLoadData(b"x")))
        print(code(cu.cuIpcGetMemHandle(ok(cu.cuMemAlloc(64)))))
    """
    assert cuda(script).stdout.split() == ["ERROR_NOT_SUPPORTED"] * 3


def test_destroyed_contexts(cuda: Any) -> None:
    script = """
        own = ok(cu.cuCtxCreate(None, 0, 1))
        address = ok(cu.cuMemAlloc(64))
        ok(cu.cuCtxDestroy(own))
        print(code(cu.cuCtxPushCurrent(own)), code(cu.cuMemGetAddressRange(address)))
        print(code(cu.cuCtxGetApiVersion(own)))
    """
    assert cuda(script).stdout.split() == [
        "ERROR_INVALID_CONTEXT",
        "ERROR_NOT_FOUND",
        "ERROR_CONTEXT_IS_DESTROYED",
    ]


def test_what_lives(cuda: Any) -> None:
    script = """
        from samebytes_softdevices import cuda_live
        kinds = "device", "pinned", "managed", "stream", "event", "context"
        print(*map(cuda_live, kinds))
        kept = ok(cu.cuMemAlloc(64)), ok(cu.cuMemHostAlloc(64, 0)), ok(cu.cuMemAllocManaged(64, 1))
        event = ok(cu.cuEventCreate(0))
        print(*map(cuda_live, kinds))
    """
    assert cuda(script).stdout.splitlines() == ["0 0 0 1 0 1", "1 1 1 1 1 1"]


def test_ffmpegs_cuda_frames(cuda: Any) -> None:
    """FFmpeg's hardware context uploads a frame and downloads it, through PyAV."""
    pytest.importorskip("av", reason="missing package av: pip install av")
    script = """
        import av
        graph = av.filter.Graph()
        source = graph.add_buffer(width=64, height=32, format="nv12", time_base="1/30")
        chain = [source, graph.add("hwupload_cuda"), graph.add("hwdownload"),
                 graph.add("format", "nv12"), graph.add("buffersink")]
        for one, other in zip(chain, chain[1:]):
            one.link_to(other)
        graph.configure()
        frame = av.VideoFrame(64, 32, "nv12")
        for number, plane in enumerate(frame.planes):
            plane.update(bytes([50 + number]) * plane.buffer_size)
        graph.push(frame)
        back = graph.pull()
        print(*[bytes(plane)[:1][0] for plane in back.planes])
    """
    assert cuda(script).stdout.split() == ["50", "51"]


def test_its_numbers_are_cudas(cuda: Any) -> None:
    """The constants of cuda_abi.h, compared with those of cuda-bindings."""
    header = Path(__file__).parents[2] / "csrc" / "cuda" / "cuda_abi.h"
    if not header.is_file():
        pytest.skip("the C sources lie in the repository, and this is a test of the wheel")
    script = """
        import re, sys
        text = open(HEADER).read()
        kinds = {
            "CUDA_": ("CUresult", "CUDA_"),
            "ATTRIBUTE_": ("CUdevice_attribute", "CU_DEVICE_ATTRIBUTE_"),
            "POINTER_": ("CUpointer_attribute", "CU_POINTER_ATTRIBUTE_"),
            "MEMORYTYPE_": ("CUmemorytype", "CU_MEMORYTYPE_"),
        }
        checked = 0
        for name, value in re.findall(r"\\b([A-Z][A-Z0-9_]+) = (\\d+)", text):
            for prefix, (kind, full) in kinds.items():
                if name.startswith(prefix):
                    member = full + name.removeprefix(prefix)
                    found = getattr(getattr(cu, kind), member, None)
                    if found is None:
                        print("no", member)
                    elif int(found) != int(value):
                        print("wrong", member)
                    checked += 1
        print(checked > 60)
    """
    answer = cuda(script.replace("HEADER", repr(str(header)))).stdout
    assert answer.split("\n")[-2] == "True"
    assert "wrong" not in answer, answer
    assert "no " not in answer, answer
