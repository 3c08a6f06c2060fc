# SPDX-License-Identifier: Apache-2.0
"""The frames that the soak of rings sends, and a writer of them that is killed.

That one runs for itself: `python3 -m tests.soak.ring_writer ADDRESS NUMBER`. It sends until a
signal ends it.
"""

from __future__ import annotations

import sys
import zlib
from contextlib import nullcontext

import numpy as np

from samebytes import Region
from samebytes_ipc import RingWriter

__all__ = ["LONGEST_WAIT", "Sender", "is_live"]

LONGEST_WAIT = 60
_SIZE = (640, 360)
_NUMBER_BITS = 40
_PICTURES = 16


def is_live(number: int) -> bool:
    """True if the writer of this number leaves frames out for readers that are slow."""
    return number % 2 == 1


class Sender:
    """A ring, and frames for it whose bytes can be checked.

    Args:
        number: of the writer.
        address: of the ring.
        size: of the frames.

    Attributes:
        ring: the ring.
        sent: how many frames it has accepted.
    """

    def __init__(self, number: int, address: str, size: tuple[int, int] = _SIZE) -> None:
        self.number = number
        self._pictures = [
            np.random.default_rng(n).integers(0, 256, size[::-1], np.uint8)
            for n in range(_PICTURES)
        ]
        self.ring = RingWriter(
            address, format="GRAY8", width=size[0], height=size[1],
            slots=8, memory="memfd",
            when_full="drop-oldest" if is_live(number) else "wait", timeout=LONGEST_WAIT,
        )  # fmt: skip
        self.sent = 0

    def send(self) -> None:
        """One frame, with its number in its first bytes and its checksum beside it."""
        mapped = self.sent % 2 == 0  # each way of filling a slot in turn
        frame = self.ring.acquire(target="dma" if mapped else "cpu")
        self.sent += 1
        pts = self.number << _NUMBER_BITS | self.sent
        with frame.map("cpu", "w") if mapped else nullcontext(frame) as view:
            array = view.planes[0].native
            np.copyto(array, self._pictures[self.sent % _PICTURES])
            array[0, :8] = np.frombuffer(pts.to_bytes(8, "little"), np.uint8)
            check = zlib.crc32(array)
            del array
        frame.meta.pts = pts
        frame.regions.append(Region(check, 0, 0, 0))
        self.ring.send(frame)


def main(address: str, number: int) -> None:
    """Until it is killed."""
    sender = Sender(number, address)
    while True:
        sender.send()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
