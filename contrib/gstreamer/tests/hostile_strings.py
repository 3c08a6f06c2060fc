# SPDX-License-Identifier: Apache-2.0
"""Random caps, descriptions of pipelines and values of properties: `hostile_strings.py SEED COUNT`.

It runs for itself, since a finding may end the process. Each text must be taken or be refused by an
error of samebytes. Before each the seed that makes it is written, and the last one is the culprit.
"""

from __future__ import annotations

import json
import random
import sys
from collections import Counter

import samebytes as sb
import samebytes.elements as el
import samebytes_gstreamer as sbg
from samebytes.errors import SamebytesError
from samebytes_gstreamer._abi.gi import Gst

from . import sample_elements

__all__ = ["attack", "main"]

_NUMBERS = (
    "0", "1", "-1", "2", "8", "64", "65535", "65536", "2147483647", "2147483648", "-2147483648",
    "4294967296", "9223372036854775807", "18446744073709551616", "1e308", "nan", "inf", "0x10",
)  # fmt: skip
_FRACTIONS = ("0/1", "1/0", "0/0", "30/1", "-1/1", "2147483647/1", "1/2147483647", "2147483647/2")
_FORMATS = (
    "GRAY8", "NV12", "I420", "P010_10LE", "v210", "BGR", "ENCODED", "UNKNOWN", "DMA_DRM", "S16LE",
    "{ NV12, I420 }",
)  # fmt: skip
_WORDS = (
    "", " ", "\0", "a\0b", "\n", "\\", '"', "'", ";", ",", "(", ")", "[ 1, 2 ]", "{ 1, 2 }",
    "(string)", "(int)1", "%s%n%p", "../../etc/passwd", "\ud800", "\N{SNOWMAN}", "\xe9" * 300,
    "x" * 70000, "!", "! !", "name=", "t.", "@ { }",
)  # fmt: skip
_COLOURS = (
    "bt709", "1:4:7:1", "2:3:5:1", "0:0:0:0", "9:9:9:9", ":::", "mpeg2", "jpeg", "interleaved",
    "mixed", "alternate", "35399:14599:8500:39850:6550:2299:15635:16450:10000000:50", "1000:400",
    "3:224:224:1", "uint8", "1:1:1:1:1:1:1:1",
)  # fmt: skip
_KINDS = ("", "", "", "(int)", "(string)", "(fraction)", "(guint64)", "(bitmask)")
_KEYS = (
    "width", "height", "format", "framerate", "pixel-aspect-ratio", "interlace-mode", "field-order",
    "colorimetry", "chroma-site", "multiview-mode", "rate", "channels", "layout", "channel-mask",
    "drm-format", "dimensions", "types", "num-tensors", "views", "mastering-display-info",
    "content-light-level",
)  # fmt: skip
_MEDIA = (
    "video/x-raw", "video/x-raw(memory:DMABuf)", "video/x-raw(memory:VAMemory)", "video/x-raw(ANY)",
    "audio/x-raw", "other/tensors", "other/tensor", "tensor/strided", "application/x-raw",
    "image/jpeg", "ANY", "EMPTY", "NONE",
)  # fmt: skip
_ELEMENTS = (
    "videotestsrc", "audiotestsrc", "fakesrc", "identity", "videoconvert", "capsfilter", "appsink",
    "fakesink", "sb_Typed", "sb_fill", "sb_Halve", "sb_fails", "sb_mark", "no_such_element",
)  # fmt: skip
_PROPERTIES = (
    "num-buffers", "caps", "name", "pattern", "blocksize", "sizetype", "sizemax", "number", "word",
    "maybe", "label", "at", "copy", "no-such", "max-buffers", "silent",
)  # fmt: skip


class Strings:
    """Texts of one seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def value(self) -> str:
        """Of a field or property."""
        chosen = self.random.choice((_NUMBERS, _FRACTIONS, _FORMATS, _WORDS, _COLOURS))
        text = self.random.choice(chosen)
        kind = self.random.choice(
            ("", "", "", "(int)", "(string)", "(fraction)", "(guint64)", "(bitmask)")
        )
        return kind + text

    def caps(self) -> str:
        """About those of a picture, with some fields as nobody would write them."""
        fields = [self.random.choice(_MEDIA[:3] if self.random.random() < 0.8 else _MEDIA)]
        if self.random.random() < 0.8:
            fields += ["format=" + self.random.choice(_FORMATS[:6]), "width=64", "height=48"]
        for _ in range(self.random.randrange(4)):
            fields.append(f"{self.random.choice(_KEYS)}={self.value()}")
        text = ", ".join(fields)
        return self.torn(text)

    def pipeline(self) -> str:
        """A description, with properties as nobody would write them."""
        parts = []
        if self.random.random() < 0.8:
            parts.append("videotestsrc num-buffers=2")
        for _ in range(self.random.randrange(3)):
            properties = [
                f"{self.random.choice(_PROPERTIES)}={self.quoted(self.value())}"
                for _ in range(self.random.randrange(3))
            ]
            parts.append(" ".join((self.random.choice(_ELEMENTS), *properties)))
        if self.random.random() < 0.5:
            parts.insert(1, self.caps())
        return self.torn(" ! ".join(parts))

    def quoted(self, text: str) -> str:
        """As it is, or in quotes."""
        return f'"{text}"' if self.random.random() < 0.5 else text

    def torn(self, text: str) -> str:
        """With a part left out, doubled or replaced, now and then."""
        if self.random.random() < 0.7:
            return text
        start, end = sorted(self.random.randrange(len(text) + 1) for _ in range(2))
        middle = self.random.choice(("", text[start:end] * 2, self.random.choice(_WORDS)))
        return text[:start] + middle + text[end:]


def _wrap(strings: Strings) -> None:
    text = strings.caps()
    buffer = Gst.Buffer.new_allocate(None, strings.random.choice((0, 1, 64 * 48, 1 << 16)), None)
    frame = sbg.frame_of(buffer, text)
    for plane in frame.planes:
        plane.map("cpu")


def _play(strings: Strings) -> None:
    with sbg.GStreamerSource(strings.pipeline(), timeout=0.2) as source:
        for _, frame in zip(range(3), source, strict=False):
            assert frame is not None


def _play_in_an_element(strings: Strings) -> None:
    source = el.create("gstreamer.source", strings.pipeline(), timeout=0.2)
    with el.Pipeline(source).start() as frames:
        for _, frame in zip(range(3), frames, strict=False):
            assert frame is not None


def _write(strings: Strings) -> None:
    frame = sb.context("cpu").allocate_frame("GRAY8", 64, 48)
    caps = strings.caps() if strings.random.random() < 0.7 else None
    rest = strings.pipeline().partition("!")[2] if strings.random.random() < 0.5 else "fakesink"
    with sbg.GStreamerSink(f"appsrc ! {rest}", caps=caps, timeout=0.2) as sink:
        sink.write(frame)


_WAYS = (_wrap, _wrap, _wrap, _play, _play_in_an_element, _write)


def attack(seed: int) -> str:
    """The outcome for the text of a seed: the name of the error, or "taken"."""
    strings = Strings(seed)
    try:
        strings.random.choice(_WAYS)(strings)
    except SamebytesError as error:
        return type(error).__name__
    return "taken"


def main(seed: int, count: int) -> None:
    """Attack with the seeds from one on; the last line is what became of them, as JSON."""
    for element in sample_elements.ELEMENTS:
        sbg.register(element, name=f"sb_{element.name}")
    ends: Counter[str] = Counter()
    for number in range(seed, seed + count):
        sys.stdout.write(f"{number}\n")
        sys.stdout.flush()
        ends[attack(number)] += 1
    sys.stdout.write(json.dumps(ends))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
