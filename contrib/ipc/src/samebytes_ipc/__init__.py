# SPDX-License-Identifier: Apache-2.0
"""Memory with descriptors in other processes: a ring of frames, sockets, and multiprocessing.

with samebytes_ipc.RingWriter(address, format="NV12", width=640, height=480) as ring:
    ring.send(ring.acquire())              # the other process: samebytes_ipc.RingReader(address)
samebytes_ipc.send(sock, tensor)           # the other process: samebytes_ipc.receive(sock)
multiprocessing.Queue().put(frame)         # tensors and frames of "dma" go by descriptor
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from samebytes.plugins import lazy_exports

if TYPE_CHECKING:
    from ._errors import (
        EndOfStreamError,
        MessageError,
        OfferError,
        RingRefusedError,
        RingTimeoutError,
    )
    from ._pickle.offers import set_pickle_timeout
    from ._ring.counts import Departure, ReaderStatistics, ReadStatistics, RingStatistics
    from ._ring.reader import RingReader
    from ._ring.writer import RingWriter
    from ._send import receive, send

__version__ = "0.1.0"

__all__ = [
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
    "receive",
    "send",
    "set_pickle_timeout",
]

_HOME = {
    "Departure": "._ring.counts",
    "EndOfStreamError": "._errors",
    "MessageError": "._errors",
    "OfferError": "._errors",
    "ReadStatistics": "._ring.counts",
    "ReaderStatistics": "._ring.counts",
    "RingReader": "._ring.reader",
    "RingRefusedError": "._errors",
    "RingStatistics": "._ring.counts",
    "RingTimeoutError": "._errors",
    "RingWriter": "._ring.writer",
    "receive": "._send",
    "send": "._send",
    "set_pickle_timeout": "._pickle.offers",
}


if not TYPE_CHECKING:  # to a type checker, any misspelt name would be there
    __getattr__, __dir__ = lazy_exports(__name__, _HOME)
