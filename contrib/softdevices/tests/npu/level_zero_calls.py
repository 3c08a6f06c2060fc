# SPDX-License-Identifier: Apache-2.0
"""Level Zero through ctypes, for scripts that run in their own processes.

No test imports this: conftest.py puts its text before the scripts, since each process has one
loader and one environment. Structures and numbers are those of ze_api.h.
"""

from __future__ import annotations

import ctypes as ct
from typing import Any

OK = 0
NOT_READY = 1
DEVICE_LOST = 0x70000001
OUT_OF_DEVICE_MEMORY = 0x70000003
NOT_AVAILABLE = 0x70010001
UNSUPPORTED_FEATURE = 0x78000003
INVALID_ARGUMENT = 0x78000004
INVALID_NULL_HANDLE = 0x78000005
INVALID_NULL_POINTER = 0x78000007
INVALID_SIZE = 0x78000008
INVALID_ENUMERATION = 0x7800000C

DMA_BUF = 2
WRITE_COMBINED = 4
HOST, DEVICE, SHARED = 1, 2, 3
FOR_EVER = 0xFFFFFFFFFFFFFFFF
PAGE = 4096

pointer, u32, u64, size_t = ct.c_void_p, ct.c_uint32, ct.c_uint64, ct.c_size_t


def structure(stype: int, *fields: tuple[str, Any]) -> Any:
    """A class of structures that begin with `stype` and pNext."""
    names = [("stype", u32), ("next", pointer), *fields]
    made = type("Structure", (ct.Structure,), {"_fields_": names})

    def make(*values: Any, next: Any = None) -> Any:
        return made(stype, ct.addressof(next) if next is not None else None, *values)

    return make


context_desc = structure(0xD, ("flags", u32))
queue_desc = structure(
    0xE, ("ordinal", u32), ("index", u32), ("flags", u32), ("mode", u32), ("priority", u32)
)
list_desc = structure(0xF, ("ordinal", u32), ("flags", u32))
event_pool_desc = structure(0x10, ("flags", u32), ("count", u32))
event_desc = structure(0x11, ("index", u32), ("signal", u32), ("wait", u32))
fence_desc = structure(0x12, ("flags", u32))
device_desc = structure(0x15, ("flags", u32), ("ordinal", u32))
host_desc = structure(0x16, ("flags", u32))
memory_properties = structure(0x17, ("type", u32), ("id", u64), ("page_size", u64))
export_desc = structure(0x18, ("flags", u32))
import_fd = structure(0x19, ("flags", u32), ("fd", ct.c_int))
export_fd = structure(0x1A, ("flags", u32), ("fd", ct.c_int))
sysmem = structure(0x20037, ("memory", pointer), ("size", u64))
external_properties = structure(
    0xA, ("imports", u32), ("exports", u32), ("image_imports", u32), ("image_exports", u32)
)
device_properties = structure(
    0x3,
    ("type", u32),
    ("vendor", u32),
    ("device", u32),
    ("flags", u32),
    ("subdevice", u32),
    ("clock", u32),
    ("largest", u64),
    ("contexts", u32),
    ("priority", u32),
    ("threads", u32),
    ("width", u32),
    ("units", u32),
    ("subslices", u32),
    ("slices", u32),
    ("resolution", u64),
    ("bits", u32),
    ("kernel_bits", u32),
    ("uuid", ct.c_uint8 * 16),
    ("name", ct.c_char * 256),
)

loader = ct.CDLL("libze_loader.so.1")


def call(name: str, *arguments: Any) -> int:
    """Call a function of Level Zero; integers are handles or pointers. Gives its result."""
    values: list[Any] = [
        pointer(a) if isinstance(a, int) and not isinstance(a, bool) else a for a in arguments
    ]
    return int(getattr(loader, name)(*values)) & 0xFFFFFFFF


def do(name: str, *arguments: Any) -> None:
    """Call a function that must succeed."""
    result = call(name, *arguments)
    assert result == OK, f"{name} gave {result:#x}"


def get(name: str, *arguments: Any) -> int:
    """Call a function that must succeed and writes a handle or pointer to its last argument."""
    out = pointer()
    do(name, *arguments, ct.byref(out))
    return out.value or 0


def handles(name: str, *before: Any) -> list[int]:
    """Call a function that gives a list of handles."""
    count = u32(0)
    do(name, *before, ct.byref(count), None)
    found = (pointer * count.value)()
    do(name, *before, ct.byref(count), found)
    return [handle or 0 for handle in found]


do("zeInit", u32(0))
drivers = handles("zeDriverGet")
devices = [handles("zeDeviceGet", driver)[0] for driver in drivers]
device = devices[0]
context = get("zeContextCreate", drivers[0], ct.byref(context_desc(0)))


def allocate(
    kind: int = HOST,
    size: int = PAGE,
    next: Any = None,
    flags: int = 0,
    alignment: int = 64,
    where: int | None = None,
) -> tuple[int, int]:
    """Allocate; gives the result and the pointer."""
    out = pointer()
    on_device = device_desc(0, 0, next=next)
    on_host = host_desc(flags, next=next)
    tail = [size_t(size), size_t(alignment), *([device] if kind != HOST else []), ct.byref(out)]
    descriptors = {
        HOST: [ct.byref(on_host)],
        DEVICE: [ct.byref(on_device)],
        SHARED: [ct.byref(on_device), ct.byref(host_desc(flags))],
    }[kind]
    name = {HOST: "zeMemAllocHost", DEVICE: "zeMemAllocDevice", SHARED: "zeMemAllocShared"}[kind]
    result = call(name, where or context, *descriptors, *tail)
    return result, out.value or 0


def exportable(kind: int = HOST, size: int = PAGE, alignment: int = 64) -> int:
    """Allocate memory that can be exported."""
    result, address = allocate(kind, size, next=export_desc(DMA_BUF), alignment=alignment)
    assert result == OK, hex(result)
    return address


def export(address: int) -> tuple[int, int]:
    """Export; gives the result and the descriptor."""
    wanted = export_fd(DMA_BUF, -1)
    result = call(
        "zeMemGetAllocProperties",
        context,
        address,
        ct.byref(memory_properties(0, 0, 0, next=wanted)),
        None,
    )
    return result, wanted.fd


def import_(fd: int, size: int = PAGE, kind: int = HOST) -> tuple[int, int]:
    """Import; gives the result and the pointer."""
    return allocate(kind, size, next=import_fd(DMA_BUF, fd))


def free(address: int) -> int:
    return call("zeMemFree", context, address)


def queue_and_list() -> tuple[int, int]:
    queue = get("zeCommandQueueCreate", context, device, ct.byref(queue_desc(0, 0, 0, 2, 0)))
    commands = get("zeCommandListCreate", context, device, ct.byref(list_desc(0, 0)))
    return queue, commands


def execute(queue: int, commands: int, fence: int | None = None) -> None:
    do("zeCommandListClose", commands)
    lists = (pointer * 1)(commands)
    do("zeCommandQueueExecuteCommandLists", queue, u32(1), lists, fence)


def append_copy(commands: int, to: int, source: int, size: int) -> int:
    return call(
        "zeCommandListAppendMemoryCopy", commands, to, source, size_t(size), None, u32(0), None
    )


def append_fill(commands: int, to: int, pattern: bytes, size: int) -> int:
    return call(
        "zeCommandListAppendMemoryFill",
        commands,
        to,
        ct.create_string_buffer(pattern, len(pattern)),
        size_t(len(pattern)),
        size_t(size),
        None,
        u32(0),
        None,
    )


def synchronize(queue: int) -> int:
    return call("zeCommandQueueSynchronize", queue, u64(FOR_EVER))
