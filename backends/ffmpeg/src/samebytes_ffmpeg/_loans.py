# SPDX-License-Identifier: Apache-2.0
"""Python memory as FFmpeg buffers, lent by `samebytes.plugins.Loan`."""

from __future__ import annotations

from collections.abc import Iterable

from samebytes.plugins import Lender, Loan, OwnedPointer
from samebytes.plugins import sweep_loans as sweep

from ._avutil import PYAV
from ._avutil_abi import AV_BUFFER_FLAG_READONLY
from ._libavutil import Libavutil
from ._owned import made

__all__ = ["held_count", "lend", "put", "sweep"]

# One of each libavutil, which stays loaded.
_lenders: dict[Lender, None] = {}


def lend(
    pieces: Iterable[tuple[int, int]],
    held: object,
    readonly: bool,
    library: Libavutil = PYAV,
) -> list[OwnedPointer]:
    """AVBufferRef* on memory of ours, one for each piece; `put` places them.

    Args:
        pieces: address of the first byte, and size in bytes.
        held: what keeps all of them alive. It is dropped once no frame, codec or filter has a
            reference to any of the buffers: by the main thread when it next runs Python code, or
            by the next `sweep` of any thread.
        readonly: FFmpeg copies before it writes.
        library: which libavutil's buffers to make.

    Raises:
        NativeError: FFmpeg has no memory for the buffers.
    """
    flags = AV_BUFFER_FLAG_READONLY if readonly else 0
    create, clear = library.owned.buffer_create, library.unref_address
    _lenders[library.lender] = None
    loan = Loan(library.lender, held)
    lent: list[OwnedPointer] = []
    for address, nbytes in pieces:
        slot = loan.slot()
        buffer: OwnedPointer = create(address, nbytes, clear, slot, flags)
        made(buffer, "av_buffer_create")
        loan.fill(slot)
        lent.append(buffer)
    loan.done()
    return lent


def put(buffer: OwnedPointer, place: int, library: Libavutil = PYAV) -> None:
    """Store a separate reference to a buffer in an AVBufferRef* field of a structure.

    What the field referred to before is given back.

    Args:
        buffer: an AVBufferRef*.
        place: the address of the field.
        library: whose buffer it is.
    """
    library.checked("av_buffer_replace", library.buffer_replace(place, buffer))


def held_count() -> int:
    """Return the number of buffers that are lent, after a sweep."""
    return sum(lender.count() for lender in _lenders)
