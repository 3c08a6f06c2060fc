# SPDX-License-Identifier: Apache-2.0
"""The calls of samebytes that acquire, release and hand over, where an exception may only leak."""

from __future__ import annotations

from collections import Counter
from functools import reduce
from importlib import import_module
from types import CodeType
from typing import Any

__all__ = ["OFTEN", "SITES", "codes_of_sites", "function_at", "names_of_sites", "sites_table"]

OFTEN = 100
"""The number of strikes of each site that an hour must have."""

_OWNER = "samebytes._core.owner"
_RING = "samebytes_ipc._ring"
_DMA = "samebytes_dma"
_VA = "samebytes_vaapi"
_CL = "samebytes_gpu_opencl"
_ZE = "samebytes_npu_level_zero"
_OV = "samebytes_openvino"
_AV = "samebytes_ffmpeg"

SITES: dict[str, tuple[str, ...]] = {
    "acquire": (
        f"{_OWNER}.handles:Fd.__init__",
        f"{_OWNER}.handles:Fd.dup",
        f"{_OWNER}.storage:Storage.__init__",
        f"{_OWNER}.loans:Loan.slot",
        f"{_OWNER}.imports:ImportCache.of_source",
        f"{_OWNER}.imports:ImportCache.in_use",
        "samebytes._core.edges.registry:ContextRegistry.find_or_make",
        "samebytes._cpu.reused:ReusedFrames.lend",
        "samebytes.elements._pool:FramePool.acquire",
        "samebytes.elements._threads:Threads.start",
        f"{_DMA}._allocators:Memfd.allocate",
        f"{_DMA}._mapping:_call_mmap",
        f"{_DMA}._cpu_access:begin_access",
        f"{_RING}.pool:Pool.acquire",
        f"{_RING}.arrays:ArraySlots.take",
        f"{_RING}.inbox:Inbox._own",
        f"{_VA}._creation:create",
        f"{_VA}._image:Image.map",
        f"{_VA}._importing:import_layout",
        f"{_CL}._host_mapping:_begin",
        f"{_CL}._external:import_dma_buf",
        f"{_ZE}._usm:allocate",
        f"{_OV}._request._queue:InferQueue._take",
        f"{_OV}._remote._lifetimes:Leases.lend",
        f"{_OV}._remote._lifetimes:pin",
        f"{_AV}._owned:acquired",
    ),
    "release": (
        f"{_OWNER}.handles:Fd.close",
        f"{_OWNER}.storage:Storage.__del__",
        f"{_OWNER}.closing:Holder.close",
        f"{_OWNER}.closing:_close",
        f"{_OWNER}.loans:sweep_loans",
        "samebytes.elements._threads:Threads.stop",
        f"{_DMA}._cpu_access:end_accesses",
        f"{_RING}.received_frames:Received.put_slot",
        f"{_RING}.connection:Connection.send_unsent",
        f"{_VA}._display_resources:DisplayResources.destroy_surface",
        f"{_VA}._image:Image.unmap",
        f"{_CL}._host_mapping:_unmap_and_release",
        f"{_CL}._external:_give_back",
        f"{_ZE}._allocation:Allocation._release",
        f"{_OV}._request._queue:InferQueue._give_back",
        f"{_OV}._request._inference:Inference.wait",
        f"{_OV}._remote._lifetimes:Lease._end",
        f"{_OV}._remote._lifetimes:_end",
    ),
    "hand over": (
        f"{_OWNER}.handles:Fd.detach",
        f"{_OWNER}.loans:Loan.fill",
        f"{_OWNER}.loans:Loan.done",
        "samebytes._aside:Aside.call",
        "samebytes.elements._channel:Channel.get",
        f"{_RING}.writer:RingWriter.send",
        f"{_RING}.server:Server.offer",
        f"{_RING}.remote_reader:RemoteReader.send_at_once",
        f"{_RING}.reader:RingReader.read",
        "samebytes_ipc._sockets.transport:send_message",
        "samebytes_ipc._sockets.transport:receive_message",
        f"{_OV}._request._inference:Inference.start",
        f"{_AV}._loans:put",
    ),
}
"""By what is done, the functions that do it in the main thread, where Python runs signal handlers:
Port.put of a pipeline is called in threads of its own alone."""


def function_at(place: str) -> Any:
    """Return the object that "module:name" stands for."""
    module, _, path = place.partition(":")
    return reduce(getattr, path.split("."), import_module(module))


def names_of_sites() -> list[str]:
    """Each site as "what it does: where"."""
    return [f"{what}: {place}" for what, places in SITES.items() for place in places]


def codes_of_sites() -> dict[CodeType, str]:
    """The code of each site, and "what it does: where"."""
    found = {}
    for what, places in SITES.items():
        for place in places:
            found[function_at(place).__code__] = f"{what}: {place}"
    return found


def sites_table(strikes: Counter[str], *, unstruck_too: bool = True) -> str:
    """Each site with its strikes, those with the fewest last.

    Args:
        strikes: how many each had, by the names of `codes_of_sites`.
        unstruck_too: show the ones that had none.
    """
    names = [name for name in names_of_sites() if unstruck_too or strikes[name]]
    rows = sorted(names, key=lambda name: -strikes[name])
    seldom = [name for name in rows if strikes[name] < OFTEN]
    lines = [f"{strikes[name]:8} {name}" for name in rows]
    lines.append(f"{len(rows)} sites, {len(rows) - len(seldom)} of them struck {OFTEN} times")
    return "\n".join(lines)
