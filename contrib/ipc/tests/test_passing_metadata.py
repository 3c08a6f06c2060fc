# SPDX-License-Identifier: Apache-2.0
"""send() and receive(): all that is known of a frame, and metadata that cannot be sent."""

from __future__ import annotations

from enum import IntEnum
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import samebytes
from samebytes import Frame, metadata
from samebytes.errors import CopyRequiredError
from samebytes_dma import DMATensor, from_fd
from samebytes_ipc import MessageError, receive, send

from .through_sockets import Sockets, passed, passed_frame, same_memory


def test_typed_entries(sockets: Sockets) -> None:
    entries: list[metadata.Entry] = [
        metadata.AffineTransform((1, 0, 0.25, 0, 1.5, 0)),
        metadata.Classification("red", 0.5, 3, "color", metadata.InferenceResult(name="prob")),
        metadata.InferenceResult(None, "m", "l", "n", "f", "NC", ["a", "b"], ["a", "b"]),
        metadata.ModelInfo("m", (metadata.LayerInfo("x", "bfloat16", (1, None)),)),
        metadata.ObjectId(7),
        metadata.SourceIdentifier(1, 2, -3, 4, 5, "rtsp://Tür"),
    ]
    with samebytes.context("dma").allocate_frame("NV12", 64, 32) as frame:
        region = metadata.add(frame, metadata.Detection(0.25, 0.5, 0.5, 1, "car", 0.5, 1, 2, 3))
        metadata.add(frame, metadata.Timestamp(1, 2, 3))
        for entry in entries:
            metadata.add(frame, entry)
            metadata.add(region, entry)
        got = passed_frame(sockets, frame)
        assert metadata.all_of(got, metadata.Entry) == metadata.all_of(frame, metadata.Entry)
        assert metadata.entries_of(got.regions[0]) == entries
        assert got.regions == frame.regions
        assert got.metadata == frame.metadata
        got.close()


def test_the_memory_of_a_result_goes_along(sockets: Sockets) -> None:
    """In a buffer of its own, and in that of the frame: by descriptor, never by value."""
    dma = samebytes.context("dma")
    tensor = dma.allocate((1, 6), "float32")
    with dma.allocate_frame("NV12", 64, 32) as frame:
        region = metadata.add(frame, metadata.Detection(0, 0, 1, 1))
        metadata.add(region, metadata.InferenceResult(tensor, "cars"))
        metadata.add(frame, metadata.InferenceResult(frame.planes[1]))
        got = passed_frame(sockets, frame)
        theirs = metadata.find(got.regions[0], metadata.InferenceResult)
        chroma = metadata.find(got, metadata.InferenceResult)
        assert theirs is not None
        assert chroma is not None
        assert isinstance(theirs.tensor, DMATensor)
        assert isinstance(chroma.tensor, DMATensor)
        assert same_memory(theirs.tensor.handle(), tensor.handle())
        assert chroma.tensor.handle() == got.planes[1].handle()
        with theirs.tensor.map("cpu", "w") as view:
            view.native[...] = 5
        assert tensor.map("cpu").native.sum() == 30
        assert theirs.tensor.info == tensor.info
        assert not theirs.tensor.readonly
        got.close()
        assert theirs.tensor.map("cpu").native.sum() == 30  # the entry holds its memory
        del theirs, chroma, got
    tensor.close()


def test_results_that_may_only_be_read_stay_so(sockets: Sockets, tmp_path: Path) -> None:
    path = tmp_path / "result"
    path.write_bytes(b"1234")
    with path.open("rb") as file, samebytes.context("dma").allocate_frame("GRAY8", 4, 4) as frame:
        metadata.add(frame, metadata.InferenceResult(from_fd(file.fileno(), (4,))))
        got = passed_frame(sockets, frame, trusted=True)
        found = metadata.find(got, metadata.InferenceResult)
        assert found is not None
        assert found.tensor is not None
        assert found.tensor.readonly
        assert found.tensor.map("cpu").native.tobytes() == b"1234"
        del found
        got.close()


@pytest.mark.parametrize(
    "array",
    [
        np.arange(6, dtype=np.float32).reshape(2, 3).T,
        np.array([True, False]),
        np.array(3, np.int64),
        np.zeros((0, 4), np.float16),
        np.array([1 + 2j]),
    ],
    ids=lambda a: str(a.dtype),
)
def test_other_results_are_copied_if_that_is_said(sockets: Sockets, array: Any) -> None:
    with samebytes.context("dma").allocate_frame("GRAY8", 4, 4) as frame:
        result = metadata.InferenceResult(array)
        metadata.add(frame, metadata.Classification("a", result=result))
        with pytest.raises(CopyRequiredError, match=r"copy=True.*\n.*frame.entries\[0\].*'dma'"):
            send(sockets[0], frame)
        assert samebytes.stats().copies == 0
        send(sockets[0], frame, copy=True)
        assert samebytes.stats().by_edge["cpu -> message (metadata)"].nbytes == array.nbytes
        samebytes.reset_stats()
        got = receive(sockets[1])
        assert isinstance(got, Frame)
        found = metadata.find(got, metadata.Classification)
        assert found is not None
        assert found.result is not None
        there = found.result.array
        assert (there.dtype, there.shape) == (array.dtype, array.shape)
        np.testing.assert_array_equal(there, array)
        assert not there.flags.writeable
        got.close()


def test_results_that_cannot_be_sent(sockets: Sockets) -> None:
    class Mine(metadata.Entry):
        pass

    with samebytes.context("dma").allocate_frame("GRAY8", 4, 4) as frame:
        for entry, reason in (
            (Mine(), r"frame.entries\[0\]: Mine is known to this process alone"),
            (metadata.InferenceResult(np.zeros(70_000, np.uint8)),
             r"70000 bytes, .* room for 49152"),
            (metadata.InferenceResult(samebytes.context("cpu").allocate((2,), "bfloat16")),
             r"frame.entries\[0\]: holds a tensor of bfloat16"),
        ):  # fmt: skip
            metadata.add(frame, entry)
            with pytest.raises(MessageError, match=reason):
                send(sockets[0], frame, copy=True)
            metadata.remove(frame, entry)
        samebytes.reset_stats()
        frame.metadata[metadata.KEY] = 3
        with pytest.raises(MessageError, match=r"frame.entries: metadata\['samebytes'\]"):
            send(sockets[0], frame)


class Level(IntEnum):
    HIGH = 2


def test_subclasses_of_plain_types_are_plain(sockets: Sockets) -> None:
    with samebytes.context("dma").allocate_frame("GRAY8", 8, 4) as frame:
        frame.metadata.update(level=Level.HIGH, gain=np.float64(0.5))
        got = passed_frame(sockets, frame)
        assert got.metadata == {"level": 2, "gain": 0.5}
        assert [type(v) for v in got.metadata.values()] == [int, float]
        got.close()


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (np.zeros(2), r"metadata\['x'\]: is a numpy.ndarray"),
        ((1, {2}), r"metadata\['x'\]\[1\]: is a builtins.set"),
        (np.int64(3), "is a numpy.int64.*: pass tolist"),
        (samebytes.tensor(np.zeros(2)), "is a .*CpuTensor.*, and tensors as InferenceResult"),
        (bytearray(b"x"), "is a builtins.bytearray"),
        (Fraction(1 << 63, 3), "more than 64 bits"),
        (float("nan"), "is nan"),
        (float("inf"), "is inf"),
        (1 << 63, "more than 64 bits"),
        ("\ud800", "half a surrogate pair"),
        ({1: 2}, r"metadata\['x'\]: has a key 1"),
        ([{"y": {3}}], r"metadata\['x'\]\[0\]\['y'\]: is a builtins.set"),
        ("x" * (1 << 16), "length: "),
    ],
)
def test_metadata_that_is_not_plain_data(sockets: Sockets, value: object, reason: str) -> None:
    with samebytes.context("dma").allocate_frame("GRAY8", 8, 4) as frame:
        frame.metadata["x"] = value
        with pytest.raises(MessageError, match=reason):
            send(sockets[0], frame)
        frame.metadata.clear()
        passed(sockets, frame).close()  # nothing of the other was sent


@pytest.mark.parametrize("base", [0.04, (1, 25), "1/25"])
def test_a_time_base_that_is_not_a_fraction(sockets: Sockets, base: Any) -> None:
    with samebytes.context("dma").allocate_frame("GRAY8", 8, 4) as frame:
        frame.meta.time_base = base
        with pytest.raises(MessageError, match="time_base: must be a Fraction, not "):
            send(sockets[0], frame)


@pytest.mark.parametrize(
    "value",
    [
        Fraction(30_000, 1001),
        Fraction(-1, 3),
        b"",
        bytes(range(256)),
        {"framerate": Fraction(25), "parts": [b"\xff", {"x": Fraction(1, 2)}]},
        (),
        (10.25, 19.75, 30.5, 12.25),
        {"parts": [(1, (b"\xff", Fraction(1, 2))), [2]]},
        {"$tuple": [1, 2]},
        {"$fraction": [1, 2]},
        {"$bytes": "AQI="},
        {"$object": {"$bytes": 3}},
        {"$object": 3, "$bytes": 4},
        {"$object": {"$object": {"$fraction": Fraction(1, 2)}}},
    ],
)
def test_values_that_json_lacks(sockets: Sockets, value: object) -> None:
    with samebytes.context("dma").allocate_frame("GRAY8", 8, 4) as frame:
        frame.metadata["x"] = value
        frame.regions.append(samebytes.Region(0, 0, 1, 1, metadata={"x": value}))
        got = passed_frame(sockets, frame)
        for found in (got.metadata["x"], got.regions[0].metadata["x"]):
            assert (found, type(found)) == (value, type(value))
        got.close()


def test_metadata_of_one_entry_that_looks_like_a_mark(sockets: Sockets) -> None:
    with samebytes.context("dma").allocate_frame("GRAY8", 8, 4) as frame:
        frame.metadata["$bytes"] = 3
        got = passed_frame(sockets, frame)
        assert got.metadata == {"$bytes": 3}
        got.close()


@pytest.mark.parametrize("deepest", [Fraction(1, 2), b"x", (3,), {"$bytes": 3}, {"x": 3}, 3])
def test_what_is_not_too_deep_to_send_is_not_too_deep_to_receive(
    sockets: Sockets, deepest: object
) -> None:
    sent = []
    with samebytes.context("dma").allocate_frame("GRAY8", 8, 4) as frame:
        for depth in range(10, 18):
            value = deepest
            for _ in range(depth):
                value = [value]
            frame.metadata["x"] = value
            try:
                send(sockets[0], frame)
            except MessageError:
                continue
            sent.append(depth)
            with receive(sockets[1]) as got:
                assert isinstance(got, Frame)
                assert got.metadata["x"] == value
    # Nested deeper than 16 levels is refused by the sender, and by nobody else.
    assert sent == list(range(10, 10 + len(sent)))
    assert 0 < len(sent) < 8


def test_a_list_that_holds_itself(sockets: Sockets) -> None:
    endless: list[object] = []
    endless.append(endless)
    with samebytes.context("dma").allocate_frame("GRAY8", 8, 4) as frame:
        frame.metadata["x"] = endless
        with pytest.raises(MessageError, match="nested deeper than 16"):
            send(sockets[0], frame)
        endless.clear()
