# SPDX-License-Identifier: Apache-2.0
"""AudioInfo: the layout of a block of audio samples."""

from __future__ import annotations

from samebytes._frozen import frozen
from samebytes._numbers import check_shape, positive
from samebytes.formats._planes import ITEM_SIZES, PlaneLayout, checked_dtype

__all__ = ["AudioInfo"]


@frozen()
class AudioInfo:
    """A block of audio.

    Attributes:
        samples: points in time in this block; each has one value for each channel.
        channels: the number of channels.
        rate: points in time for each second (Hz).
        dtype: name of the element type, for instance "int16" or "float32".
        interleaved: True when all channels of one point in time lie side by side in one plane,
            False when each channel has its own plane.
        channel_layout: the loudspeaker of each channel, if it is known: "stereo", "5.1", or the
            channels in the order of memory, "FL+FR+LFE2". See `channel_names`.

    Raises LayoutError for a number that is not a positive integer, for more bytes than can be
    addressed, and for an unknown dtype.
    """

    samples: int
    channels: int
    rate: int
    dtype: str
    interleaved: bool = True
    channel_layout: str | None = None

    def __post_init__(self) -> None:
        for name in ("samples", "channels", "rate"):
            object.__setattr__(self, name, positive(getattr(self, name), name))
        checked_dtype(self.dtype)
        check_shape((self.samples, self.channels), ITEM_SIZES[self.dtype] * 8)

    @property
    def duration(self) -> float:
        """Seconds that the block lasts."""
        return self.samples / self.rate

    @property
    def nbytes(self) -> int:
        """Bytes of all planes, without padding."""
        return self.samples * self.channels * ITEM_SIZES[self.dtype]

    def plane_layouts(self) -> tuple[PlaneLayout, ...]:
        """One plane (samples, channels) named "samples", or one (samples,) for each channel.

        The planes of separate channels are named by their number, and each begins its own buffer.
        """
        itemsize = ITEM_SIZES[self.dtype]
        if self.interleaved:
            shape = (self.samples, self.channels)
            strides = (self.channels * itemsize, itemsize)
            return (PlaneLayout("samples", self.dtype, shape, strides),)
        return tuple(
            PlaneLayout(str(channel), self.dtype, (self.samples,), (itemsize,))
            for channel in range(self.channels)
        )
