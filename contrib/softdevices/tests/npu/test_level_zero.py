# SPDX-License-Identifier: Apache-2.0
"""The driver through Level Zero, under the real loader with its validation and standing in."""

from __future__ import annotations

from collections.abc import Callable

import pytest

Run = Callable[..., str]

pytestmark = pytest.mark.parametrize("loader", ["real", "stand-in"])


def test_the_device_says_what_it_is(level_zero: Run, loader: str) -> None:
    level_zero(
        """
assert len(drivers) == len(devices) == 1
properties = device_properties(*([0] * 17))
do("zeDeviceGetProperties", device, ct.byref(properties))
assert b"software" in properties.name
assert properties.type == 5  # VPU
assert properties.device == 0x643E
external = external_properties(0, 0, 0, 0)
do("zeDeviceGetExternalMemoryProperties", device, ct.byref(external))
assert (external.imports, external.exports) == (0x102, 2)
assert handles("zeDeviceGetSubDevices", device) == []
""",
        loader,
    )


def test_platforms_have_their_identifiers(level_zero: Run, loader: str) -> None:
    script = """
properties = device_properties(*([0] * 17))
do("zeDeviceGetProperties", device, ct.byref(properties))
print(hex(properties.device), properties.slices)
"""
    found = [
        level_zero(script, loader, SOFTNPU_PLATFORM=platform).split()
        for platform in ("3720", "4000", "5010")
    ]
    assert found == [["0x7d1d", "2"], ["0x643e", "6"], ["0xb03e", "3"]]


def test_exported_memory_is_the_same_memory(level_zero: Run, loader: str) -> None:
    level_zero(
        """
import mmap, os
for kind in (HOST, DEVICE, SHARED):
    address = exportable(kind, 2 * PAGE, alignment=65536)
    assert address % 65536 == 0
    result, fd = export(address)
    assert result == OK
    result, second = export(address)
    assert (result, second == fd) == (OK, False)  # a descriptor for each export
    os.close(second)
    view = mmap.mmap(fd, 2 * PAGE)
    view[PAGE:PAGE + 5] = b"by fd"
    assert ct.string_at(address + PAGE, 5) == b"by fd"

    result, imported = import_(fd, 2 * PAGE, kind)
    assert (result, imported == address) == (OK, False)
    ct.memmove(imported, b"by import", 9)
    assert view[:9] == ct.string_at(address, 9) == b"by import"
    result, again = export(imported)  # what was imported can be exported
    assert result == OK
    assert os.fstat(again).st_ino == os.fstat(fd).st_ino
    os.close(again)

    child = os.fork()
    if child == 0:
        mmap.mmap(fd, PAGE)[:8] = b"by child"
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert ct.string_at(imported, 8) == b"by child"

    assert free(address) == OK
    assert ct.string_at(imported, 8) == b"by child"  # each keeps the memory
    assert free(imported) == OK
    assert view[:8] == b"by child"
    os.fstat(fd)  # still the user's
    os.close(fd)
""",
        loader,
    )


def test_only_what_was_made_for_it_can_be_exported(level_zero: Run, loader: str) -> None:
    level_zero(
        """
result, plain = allocate()
assert result == OK
assert export(plain) == (NOT_AVAILABLE, -1)
result, _ = allocate(next=export_desc(DMA_BUF | 1))
assert result == INVALID_ENUMERATION
# Only the first structure of a chain counts.
export_second = export_desc(DMA_BUF)
first = structure(0x16, ("flags", u32))(0, next=export_second)
result, hidden = allocate(next=first)
assert result == OK
assert export(hidden) == (NOT_AVAILABLE, -1)
# So it is with the wish for a descriptor.
address = exportable()
wanted = export_fd(DMA_BUF, -1)
between = structure(0x17, ("type", u32), ("id", u64), ("page", u64))(0, 0, 0, next=wanted)
do("zeMemGetAllocProperties", context, address,
   ct.byref(memory_properties(0, 0, 0, next=between)), None)
assert wanted.fd == -1
""",
        loader,
    )


def test_an_import_takes_the_whole_buffer_whatever_was_asked_for(
    level_zero: Run, loader: str
) -> None:
    level_zero(
        """
import os
fd = os.memfd_create("two pages")
os.ftruncate(fd, 2 * PAGE)
for asked in (PAGE, 2 * PAGE, 16 * PAGE):
    result, address = import_(fd, asked)
    assert result == OK
    base, size = pointer(), size_t()
    do("zeMemGetAddressRange", context, address + PAGE + 5, ct.byref(base), ct.byref(size))
    assert (base.value, size.value) == (address, 2 * PAGE)
    assert free(address) == OK
os.close(fd)
assert import_(fd) == (OUT_OF_DEVICE_MEMORY, 0)  # closed
read, write = os.pipe()
assert import_(read) == (OUT_OF_DEVICE_MEMORY, 0)  # cannot be mapped
""",
        loader,
    )


def test_host_memory_is_imported_where_it_lies(level_zero: Run, loader: str) -> None:
    level_zero(
        """
import mmap
memory = mmap.mmap(-1, 4 * PAGE)
address = ct.addressof(ct.c_char.from_buffer(memory))
for flags in (0, WRITE_COMBINED):
    result, found = allocate(size=2 * PAGE, flags=flags, next=sysmem(address, 2 * PAGE))
    assert (result, found) == (OK, address)
    assert export(address) == (NOT_AVAILABLE, -1)
    # Not a second time, and not what is device memory already.
    assert allocate(next=sysmem(address + PAGE, PAGE))[0] == INVALID_ARGUMENT
    assert allocate(next=sysmem(address, PAGE))[0] == INVALID_ARGUMENT
    assert free(address) == OK
    memory[:4] = b"mine"  # still the user's
assert allocate(next=sysmem(address + 64, PAGE))[0] == OUT_OF_DEVICE_MEMORY
assert allocate(next=sysmem(address, PAGE + 64))[0] == OUT_OF_DEVICE_MEMORY
own = exportable()
assert allocate(next=sysmem(own, PAGE))[0] == INVALID_ARGUMENT
""",
        loader,
    )


def test_properties_of_pointers(level_zero: Run, loader: str) -> None:
    level_zero(
        """
def properties(address, where=None):
    found = memory_properties(9, 9, 9)
    result = call("zeMemGetAllocProperties", where or context, address, ct.byref(found), None)
    return result, found.type, found.id
ids = set()
for kind in (HOST, DEVICE, SHARED):
    result, address = allocate(kind)
    result, found, number = properties(address + PAGE - 1)
    assert (result, found) == (OK, kind)
    ids.add(number)
assert len(ids) == 3
plain = ct.create_string_buffer(16)
assert properties(ct.addressof(plain)) == (NOT_AVAILABLE, 0, 0)
other = get("zeContextCreate", drivers[0], ct.byref(context_desc(0)))
assert properties(address, other)[:2] == (NOT_AVAILABLE, 0)
assert call("zeMemFree", other, address) == INVALID_ARGUMENT
assert free(address + 1) == INVALID_ARGUMENT
assert free(address) == OK
assert free(address) == INVALID_ARGUMENT
do("zeContextDestroy", other)
""",
        loader,
    )


def test_copies_and_fills(level_zero: Run, loader: str) -> None:
    level_zero(
        """
address = exportable(size=2 * PAGE)
queue, commands = queue_and_list()
for pattern in (b"a", b"bc", b"defg"):
    assert append_fill(commands, address, pattern, 16) == OK
for pattern in (b"abc", b"12345678"):
    assert append_fill(commands, address, pattern, 16) == INVALID_SIZE
plain = ct.create_string_buffer(b"plain", 16)
assert append_copy(commands, address, ct.addressof(plain), 5) == INVALID_ARGUMENT
assert append_copy(commands, address + PAGE, address, 2 * PAGE) == INVALID_ARGUMENT  # too long
assert append_fill(commands, ct.addressof(plain), b"a", 5) == OUT_OF_DEVICE_MEMORY
assert append_copy(commands, address + PAGE, address, 6) == OK
fence = get("zeFenceCreate", queue, ct.byref(fence_desc(0)))
execute(queue, commands, fence)
do("zeFenceHostSynchronize", fence, u64(FOR_EVER))
assert ct.string_at(address + PAGE, 8) == b"defgde" + bytes(2)
assert append_fill(commands, address, b"a", 1) == NOT_AVAILABLE  # closed
for name, what in (("zeFenceDestroy", fence), ("zeCommandListDestroy", commands),
                   ("zeCommandQueueDestroy", queue)):
    do(name, what)
""",
        loader,
    )


def test_commands_run_later_until_someone_waits(level_zero: Run, loader: str) -> None:
    """A submission waits for an event that the host signals, so nothing depends on time."""
    level_zero(
        """
address = exportable()
queue, commands = queue_and_list()
pool = get("zeEventPoolCreate", context, ct.byref(event_pool_desc(1, 2)), u32(0), None)
go, done = (
    get("zeEventCreate", pool, ct.byref(event_desc(i, 4, 4))) for i in (0, 1)
)
do("zeCommandListAppendMemoryFill", commands, address, ct.create_string_buffer(b"n", 1),
   size_t(1), size_t(8), done, u32(1), (pointer * 1)(go))
ct.memmove(address, b"old old ", 8)
fence = get("zeFenceCreate", queue, ct.byref(fence_desc(0)))
execute(queue, commands, fence)
assert ct.string_at(address, 8) == b"old old "
assert call("zeFenceQueryStatus", fence) == NOT_READY
assert call("zeEventQueryStatus", done) == NOT_READY
assert call("zeCommandQueueSynchronize", queue, u64(1000)) == NOT_READY
assert call("zeFenceHostSynchronize", fence, u64(1000)) == NOT_READY
do("zeEventHostSignal", go)
do("zeEventHostSynchronize", done, u64(FOR_EVER))
do("zeFenceHostSynchronize", fence, u64(FOR_EVER))
assert synchronize(queue) == OK
assert ct.string_at(address, 8) == b"nnnnnnnn"
""",
        loader,
    )


def test_the_delay_shows_a_missing_wait(level_zero: Run, loader: str) -> None:
    level_zero(
        """
address = exportable()
queue, commands = queue_and_list()
assert append_fill(commands, address, b"n", 8) == OK
execute(queue, commands)
assert ct.string_at(address, 8) == bytes(8)
assert synchronize(queue) == OK
assert ct.string_at(address, 8) == b"nnnnnnnn"
""",
        loader,
        SOFTNPU_DELAY_US="1000000",
    )


def test_an_immediate_list_runs_what_it_is_given(level_zero: Run, loader: str) -> None:
    level_zero(
        """
address = exportable()
synchronous = queue_desc(0, 0, 0, 1, 0)
commands = get("zeCommandListCreateImmediate", context, device, ct.byref(synchronous))
assert append_fill(commands, address, b"s", 4) == OK
assert ct.string_at(address, 4) == b"ssss"
do("zeCommandListDestroy", commands)
""",
        loader,
        SOFTNPU_DELAY_US="100000",
    )


def test_memory_that_is_freed_too_early_is_an_error_and_no_crash(
    level_zero: Run, loader: str
) -> None:
    level_zero(
        """
address, other = exportable(), exportable()
queue, commands = queue_and_list()
assert append_copy(commands, address, other, PAGE) == OK
execute(queue, commands)
assert free(other) == OK
assert synchronize(queue) == DEVICE_LOST
assert synchronize(queue) == OK  # said once
""",
        loader,
        SOFTNPU_DELAY_US="300000",
    )


def test_what_is_not_a_handle_is_an_error_and_no_crash(level_zero: Run, loader: str) -> None:
    level_zero(
        """
memory = ct.create_string_buffer(4096)
queue, commands = queue_and_list()
fence = get("zeFenceCreate", queue, ct.byref(fence_desc(0)))
do("zeFenceDestroy", fence)
wrong = [ct.addressof(memory), 0x1000, 0xDEAD0000DEAD0000]
for handle in [*wrong, device]:
    assert call("zeMemFree", handle, memory) == INVALID_ARGUMENT
    assert call("zeContextDestroy", handle) == INVALID_ARGUMENT
    assert call("zeCommandListClose", handle) == INVALID_ARGUMENT
    assert call("zeCommandListDestroy", handle) == INVALID_ARGUMENT
    assert call("zeCommandQueueDestroy", handle) == INVALID_ARGUMENT
    assert call("zeFenceQueryStatus", handle) == INVALID_ARGUMENT
    assert call("zeEventHostSignal", handle) == INVALID_ARGUMENT
for handle in [*wrong, context]:
    count = u32(0)
    assert call("zeDeviceGetSubDevices", handle, ct.byref(count), None) == INVALID_ARGUMENT
assert call("zeFenceDestroy", fence) == INVALID_ARGUMENT  # destroyed before
assert call("zeContextDestroy", None) == INVALID_NULL_HANDLE
assert call("zeMemFree", context, None) == INVALID_NULL_POINTER
""",
        loader,
    )


def test_ten_thousand_exports_and_imports_leave_nothing(level_zero: Run, loader: str) -> None:
    level_zero(
        """
import os
def opened():
    return sorted(os.listdir("/proc/self/fd"))
def mapped():
    with open("/proc/self/maps") as maps:
        return sum("memfd:softnpu" in line for line in maps)
before = opened()
for number in range(10_000):
    address = exportable()
    _, fd = export(address)
    _, imported = import_(fd)
    os.close(fd)
    assert free(address if number % 2 else imported) == OK
    assert free(imported if number % 2 else address) == OK
assert opened() == before
assert mapped() == 0
for _ in range(100):
    exportable()
do("zeContextDestroy", context)
assert (opened(), mapped()) == (before, 0)
""",
        loader,
    )


def test_two_devices(level_zero: Run, loader: str) -> None:
    level_zero(
        """
names = []
for device in devices:
    properties = device_properties(*([0] * 17))
    do("zeDeviceGetProperties", device, ct.byref(properties))
    names.append((properties.type, properties.name))
assert [kind for kind, _ in names] == [5, 1]
assert all(b"software" in name for _, name in names)
npu, gpu = (
    get("zeContextCreate", driver, ct.byref(context_desc(0))) for driver in drivers
)
device = devices[0]
result, address = allocate(where=npu)
assert result == OK
found = memory_properties(9, 9, 9)
# What a GPU does not know is "unknown" and no error.
do("zeMemGetAllocProperties", gpu, address, ct.byref(found), None)
assert found.type == 0
device = devices[1]
assert allocate(DEVICE, where=gpu)[0] == OK
""",
        loader,
        SOFTNPU_DEVICES="npu,gpu",
    )


def test_nothing_to_find_without_devices(level_zero: Run, loader: str) -> None:
    level_zero("assert len(drivers) == 1", loader, SOFTNPU_DEVICES="gpu")


def test_the_trace_shows_what_reached_the_device(
    level_zero: Run, loader: str, trace_file: str
) -> None:
    from samebytes_softdevices import npu_trace

    printed = level_zero(
        """
address = exportable()
_, fd = export(address)
_, imported = import_(fd)
queue, commands = queue_and_list()
assert append_copy(commands, imported + 8, address, 8) == OK
execute(queue, commands)
assert synchronize(queue) == OK
free(imported)
print(address, imported, fd)
""",
        loader,
        SOFTNPU_TRACE=trace_file,
    )
    address, imported, fd = map(int, printed.split())
    made = npu_trace(trace_file, "mem_alloc")
    assert [(r.number("pointer"), r.fields["from"]) for r in made] == [
        (address, "fresh"),
        (imported, "fd"),
    ]
    assert made[1].number("fd") == npu_trace(trace_file, "mem_export")[0].number("fd") == fd
    (copy,) = npu_trace(trace_file, "copy")
    assert (copy.number("to"), copy.number("from")) == (imported + 8, address)
    assert npu_trace(trace_file, "mem_free")[0].number("pointer") == imported
