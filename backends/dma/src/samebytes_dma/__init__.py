# SPDX-License-Identifier: Apache-2.0
"""DMA-BUFs as samebytes memory: shared by file descriptor, between processes and devices.

tensor = samebytes_dma.from_fd(fd, (1080, 1920, 4), pitch=7680)
with tensor.map("cpu", "rw") as view:      # mmap, and the begin and end of the CPU's access
    view.native[...] = 0
samebytes_dma.send(sock, tensor)           # the other process: samebytes_dma.receive(sock)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from samebytes.plugins import lazy_exports

if TYPE_CHECKING:
    from ._buffer import DMABuffer
    from ._context import DMAContext
    from ._descriptor import is_dma_buf
    from ._fences import export_sync_file, import_sync_file
    from ._modifiers import INVALID, LINEAR
    from ._passing.exchange import receive, send
    from ._passing.message import EndOfStreamError, MessageError
    from ._pickling.offers import OfferError, set_pickle_timeout
    from ._plane import DMAPlane
    from ._ring.counts import Departure, ReaderStatistics, RingStatistics
    from ._ring.errors import RingRefusedError, RingTimeoutError
    from ._ring.reader import ReadStatistics, RingReader
    from ._ring.writer import RingWriter
    from ._tensor import DMATensor
    from ._wrapping import frame_from_fds, frame_of_planes, from_fd

__version__ = "0.1.0"

__all__ = [
    "INVALID",
    "LINEAR",
    "DMABuffer",
    "DMAContext",
    "DMAPlane",
    "DMATensor",
    "Departure",
    "EndOfStreamError",
    "MessageError",
    "OfferError",
    "ReadStatistics",
    "ReaderStatistics",
    "RingReader",
    "RingRefusedError",
    "RingStatistics",
    "RingTimeoutError",
    "RingWriter",
    "export_sync_file",
    "frame_from_fds",
    "frame_of_planes",
    "from_fd",
    "import_sync_file",
    "is_dma_buf",
    "receive",
    "send",
    "set_pickle_timeout",
]

_HOME = {
    "INVALID": "._modifiers",
    "LINEAR": "._modifiers",
    "DMABuffer": "._buffer",
    "DMAContext": "._context",
    "DMAPlane": "._plane",
    "DMATensor": "._tensor",
    "Departure": "._ring.counts",
    "EndOfStreamError": "._passing.message",
    "MessageError": "._passing.message",
    "OfferError": "._pickling.offers",
    "ReadStatistics": "._ring.reader",
    "ReaderStatistics": "._ring.counts",
    "RingReader": "._ring.reader",
    "RingRefusedError": "._ring.errors",
    "RingStatistics": "._ring.counts",
    "RingTimeoutError": "._ring.errors",
    "RingWriter": "._ring.writer",
    "export_sync_file": "._fences",
    "frame_from_fds": "._wrapping",
    "frame_of_planes": "._wrapping",
    "from_fd": "._wrapping",
    "import_sync_file": "._fences",
    "is_dma_buf": "._descriptor",
    "receive": "._passing.exchange",
    "send": "._passing.exchange",
    "set_pickle_timeout": "._pickling.offers",
}


if not TYPE_CHECKING:  # to a type checker, any misspelt name would be there
    __getattr__, __dir__ = lazy_exports(__name__, _HOME)
