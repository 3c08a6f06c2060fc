# SPDX-License-Identifier: Apache-2.0
"""Messages of a hostile sender are refused, by the name of the field."""

from __future__ import annotations

import json
import socket

import pytest

from samebytes import Frame, metadata
from samebytes.errors import SamebytesError
from samebytes_dma import DMATensor
from samebytes_ipc import EndOfStreamError, MessageError, receive

from .forged_messages import (
    ABSENT,
    FRAME,
    PLANE,
    REGION,
    TENSOR,
    Document,
    changed,
    message,
    refused,
)
from .through_sockets import Y_TILED, MakeMemfd, Sockets


def test_the_messages_here_are_right(sockets: Sockets, sealed: MakeMemfd) -> None:
    """So that it is the change that is refused."""
    socket.send_fds(sockets[0], [message(TENSOR)], [sealed()])
    tensor = receive(sockets[1])
    assert isinstance(tensor, DMATensor)
    assert tensor.shape == (32, 64)
    socket.send_fds(sockets[0], [message(FRAME)], [sealed()])
    frame = receive(sockets[1])
    assert frame.map("cpu").planes[1].shape == (16, 32, 2)  # type: ignore[union-attr]  # a frame
    socket.send_fds(sockets[0], [message(TYPED)], [sealed()])
    typed = receive(sockets[1])
    assert isinstance(typed, Frame)
    kinds = [type(entry).__name__ for entry in metadata.entries_of(typed)]
    assert kinds == ["InferenceResult", "Classification", "ModelInfo", "AffineTransform",
                     "ObjectId", "SourceIdentifier"]  # fmt: skip
    assert metadata.find(typed.regions[0], metadata.ObjectId) == metadata.ObjectId(4)


@pytest.mark.parametrize(
    ("sent", "field"),
    [
        (message(TENSOR, magic=b"HTTP"), "magic"),
        (message(TENSOR, version=2), "version"),
        (message(TENSOR, version=0), "version"),
        (message(TENSOR, 0), "descriptors"),
        (message(TENSOR, 65), "descriptors"),
        (message(TENSOR, 2), "descriptors"),
        (message(b""), "length"),
        (message(TENSOR, length=(1 << 16) + 1), "length"),
        (message(TENSOR, length=(1 << 32) - 1), "length"),
        (message(b"\xff\xfe"), "description"),
        (message(b"{"), "description"),
        (message(b"[]"), "description"),
        (message(b"null"), "description"),
        (message(b"{}"), "description"),
        (message(b'{"tensor":1,"tensor":1}'), "description"),
        (message(b'{"readonly":NaN}'), "description"),
        (message(b'{"readonly":-Infinity}'), "description"),
        (message(b"[" * 60_000), "description"),
        (message(b'{"readonly":' * 5_000), "description"),
        (message(b"9" * 60_000), "description"),
        (message({**TENSOR, "frame": FRAME["frame"]}), "description"),
        (message({**TENSOR, "more": 1}), "description"),
    ],
    ids=repr,
)
def test_what_is_not_a_message(
    sockets: Sockets, sealed: MakeMemfd, sent: bytes, field: str
) -> None:
    assert refused(sockets, sent, [sealed()]).field == field


RESULT: Document = {
    "tensor": None, "model_name": "m", "layer_name": "", "name": "", "format": "", "layout": "",
    "point_names": [], "point_connections": [],
}  # fmt: skip
VALUES: Document = {"dtype": "uint16", "shape": [2], "data": "AQIDBA=="}
ENTRIES: list[Document] = [
    {"kind": "inference", **RESULT, "tensor": VALUES},
    {"kind": "classification", "label": "day", "confidence": 0.5, "label_id": 3, "attribute": "",
     "result": {**RESULT, "tensor": {"plane": {**PLANE}, "readonly": True}}},
    {"kind": "model", "name": "m", "outputs": [],
     "inputs": [{"name": "x", "dtype": "uint8", "shape": [1, None]}]},
    {"kind": "affine", "matrix": [1, 0, 0, 0, 1.5, 0]},
    {"kind": "object_id", "id": 4},
    {"kind": "source", "batch_index": 0, "stream_id": 1, "pts": None, "region_id": None,
     "object_id": None, "uri": ""},
]  # fmt: skip
TYPED: Document = {
    **FRAME,
    "frame": {
        **FRAME["frame"], "entries": ENTRIES, "regions": [{**REGION, "entries": [{**ENTRIES[4]}]}],
    },
}  # fmt: skip
PLACE = "frame.entries.1.result.tensor.plane"
NAMED = "frame.entries[1].result.tensor.plane"
WRONG_ENTRIES: list[tuple[str, object, str]] = [
    ("frame.entries", {}, "frame.entries"),
    ("frame.entries", ABSENT, "frame"),
    ("frame.entries", [ENTRIES[4]] * 257, "frame.entries"),
    ("frame.entries.0", 3, "frame.entries[0]"),
    ("frame.entries.0", {}, "frame.entries[0]"),
    ("frame.entries.0.kind", "detection", "frame.entries[0]"),
    ("frame.entries.0.kind", [], "frame.entries[0]"),
    ("frame.entries.0.more", 1, "frame.entries[0]"),
    ("frame.entries.0.layout", ABSENT, "frame.entries[0]"),
    ("frame.entries.0.layout", 4, "frame.entries[0]"),
    ("frame.entries.0.layout", "\ud800", "frame.entries[0]['layout']"),
    ("frame.entries.0.point_names", "abc", "frame.entries[0]"),
    ("frame.entries.0.point_connections", ["a"], "frame.entries[0]"),
    ("frame.entries.0.tensor", 3, "frame.entries[0].tensor"),
    ("frame.entries.0.tensor", {}, "frame.entries[0].tensor"),
    ("frame.entries.0.tensor.more", 1, "frame.entries[0].tensor"),
    ("frame.entries.0.tensor.dtype", "uint9", "frame.entries[0].tensor.dtype"),
    ("frame.entries.0.tensor.dtype", "bfloat16", "frame.entries[0].tensor.dtype"),
    ("frame.entries.0.tensor.dtype", "object", "frame.entries[0].tensor.dtype"),
    ("frame.entries.0.tensor.dtype", "bool", "frame.entries[0].tensor.data"),
    ("frame.entries.0.tensor", {"dtype": "bool", "shape": [1], "data": "Ag=="},
     "frame.entries[0].tensor.data"),
    ("frame.entries.0.tensor.shape", [3], "frame.entries[0].tensor.data"),
    ("frame.entries.0.tensor.shape", [1], "frame.entries[0].tensor.data"),
    ("frame.entries.0.tensor.shape", [-1], "frame.entries[0].tensor.shape[0]"),
    ("frame.entries.0.tensor.shape", [1] * 17, "frame.entries[0].tensor.shape"),
    ("frame.entries.0.tensor.shape", [0, (1 << 31) - 1, (1 << 31) - 1],
     "frame.entries[0].tensor.shape"),
    ("frame.entries.0.tensor.data", "AQ", "frame.entries[0].tensor.data"),
    ("frame.entries.0.tensor.data", "é", "frame.entries[0].tensor.data"),
    ("frame.entries.0.tensor.data", None, "frame.entries[0].tensor.data"),
    ("frame.entries.1.label", 4, "frame.entries[1]"),
    ("frame.entries.1.confidence", "high", "frame.entries[1]"),
    ("frame.entries.1.label_id", 1 << 63, "frame.entries[1]['label_id']"),
    ("frame.entries.1.result", [], "frame.entries[1]"),
    ("frame.entries.1.result.name", None, "frame.entries[1]"),
    ("frame.entries.1.result.tensor.readonly", 1, "frame.entries[1].result.tensor.readonly"),
    (PLACE, None, NAMED),
    (f"{PLACE}.buffer", 1, f"{NAMED}.buffer"),
    (f"{PLACE}.offset", 4095, NAMED),
    (f"{PLACE}.shape", [65, 64], NAMED),
    (f"{PLACE}.shape", [0, 64], f"{NAMED}.shape[0]"),
    (f"{PLACE}.strides", [0, 0], NAMED),
    (f"{PLACE}.dtype", "float64", NAMED),
    ("frame.entries.2.inputs", [3], "frame.entries[2]"),
    ("frame.entries.2.inputs", {}, "frame.entries[2]"),
    ("frame.entries.2.inputs.0.shape", [-1], "frame.entries[2]"),
    ("frame.entries.2.inputs.0.dtype", "x" * 60_000, "frame.entries[2]"),
    ("frame.entries.3.matrix", [1], "frame.entries[3]"),
    ("frame.entries.3.matrix.0", True, "frame.entries[3]"),
    ("frame.entries.3.matrix.0", 10**400, "frame.entries[3]['matrix'][0]"),
    ("frame.entries.4.id", -1, "frame.entries[4]"),
    ("frame.entries.5.pts", 0.5, "frame.entries[5]"),
    ("frame.entries.5.uri", {"$bytes": ""}, "frame.entries[5]"),
    ("frame.regions.0.entries", None, "frame.regions[0].entries"),
    ("frame.regions.0.entries.0.id", None, "frame.regions[0].entries[0]"),
    ("frame.metadata", {"samebytes": []}, "frame.metadata"),
    ("frame.regions.0.metadata", {"samebytes": [1]}, "frame.regions[0].metadata"),
]  # fmt: skip
WRONG: list[tuple[str, object, str]] = [
    ("readonly", 0, "readonly"),
    ("readonly", ABSENT, "description"),
    ("tensor", [], "tensor"),
    ("tensor.buffer", 1, "tensor.buffer"),
    ("tensor.buffer", -1, "tensor.buffer"),
    ("tensor.buffer", True, "tensor.buffer"),
    ("tensor.buffer", 0.0, "tensor.buffer"),
    ("tensor.buffer", ABSENT, "tensor"),
    ("tensor.more", 1, "tensor"),
    ("tensor.dtype", "uint9", "tensor.dtype"),
    ("tensor.dtype", 8, "tensor.dtype"),
    ("tensor.dtype", "x" * 60_000, "tensor.dtype"),
    ("tensor.dtype", "float64", "tensor"),
    ("tensor.shape", 64, "tensor.shape"),
    ("tensor.shape", [32, 65], "tensor"),
    ("tensor.shape", [65, 64], "tensor"),
    ("tensor.shape", [32], "tensor"),
    ("tensor.shape", [1] * 17, "tensor.shape"),
    ("tensor.shape", [0, 64], "tensor.shape[0]"),
    ("tensor.shape", [-1, 64], "tensor.shape[0]"),
    ("tensor.shape", [32, 1 << 31], "tensor.shape[1]"),
    ("tensor.shape", [32, 10**4000], "tensor.shape[1]"),
    ("tensor.shape", [32.0, 64], "tensor.shape[0]"),
    ("tensor.shape", [True, 64], "tensor.shape[0]"),
    ("tensor.shape", ["32", 64], "tensor.shape[0]"),
    ("tensor.shape", [(1 << 31) - 1] * 2, "tensor"),
    ("tensor.strides", [64], "tensor"),
    ("tensor.strides", [63, 1], "tensor"),
    ("tensor.strides", [0, 0], "tensor"),
    ("tensor.strides", [-64, 1], "tensor"),
    ("tensor.strides", [1 << 62, 1], "tensor.strides[0]"),
    ("tensor.strides", [(1 << 62) - 1, 1], "tensor"),
    ("tensor.strides", [64.5, 1], "tensor.strides[0]"),
    ("tensor.strides", None, "tensor.strides"),
    ("tensor.offset", 4096, "tensor"),
    ("tensor.offset", 4095, "tensor"),
    ("tensor.offset", -1, "tensor.offset"),
    ("tensor.offset", 1 << 62, "tensor.offset"),
    ("tensor.offset", (1 << 62) - 1, "tensor"),
    ("tensor.offset", None, "tensor.offset"),
    ("tensor.offset", 1e300, "tensor.offset"),
    ("tensor.pitch", 65, "tensor"),
    ("tensor.pitch", 63, "tensor"),
    ("tensor.pitch", "64", "tensor.pitch"),
    ("tensor.modifier", -1, "tensor.modifier"),
    ("tensor.modifier", 1 << 64, "tensor.modifier"),
    ("tensor.modifier", "linear", "tensor.modifier"),
    ("tensor.modifier", Y_TILED, "tensor"),
]
WRONG_FRAMES: list[tuple[str, object, str]] = [
    ("frame", None, "frame"),
    ("frame.planes", [], "frame.planes"),
    ("frame.planes", [PLANE], "frame.planes"),
    ("frame.planes", [PLANE] * 65, "frame.planes"),
    ("frame.planes", [PLANE, PLANE], "frame.planes"),
    ("frame.planes.1.offset", 3073, "frame.planes[1]"),
    ("frame.planes.1.buffer", 1, "frame.planes[1].buffer"),
    ("frame.planes.1", [], "frame.planes[1]"),
    ("frame.image.format", "NV13", "frame.image.format"),
    ("frame.image.format", "BGR", "frame.planes"),
    ("frame.image.format", None, "frame.image.format"),
    ("frame.image.width", 66, "frame.planes"),
    ("frame.image.width", 0, "frame.image.width"),
    ("frame.image.height", 1 << 31, "frame.image.height"),
    ("frame.image.height", ABSENT, "frame.image"),
    ("frame.image", [], "frame.image"),
    ("frame.pts", 1.5, "frame.pts"),
    ("frame.pts", 1 << 63, "frame.pts"),
    ("frame.time_base", [1], "frame.time_base"),
    ("frame.time_base", [1, 0], "frame.time_base[1]"),
    ("frame.time_base", [1, 30, 1], "frame.time_base"),
    ("frame.time_base", 30, "frame.time_base"),
    ("frame.regions", {}, "frame.regions"),
    ("frame.regions", [0] * 1025, "frame.regions"),
    ("frame.regions.0.x", "0", "frame.regions[0].x"),
    ("frame.regions.0.width", -1, "frame.regions[0].width"),
    ("frame.regions.0.label", None, "frame.regions[0].label"),
    ("frame.regions.0.label", "x" * 5000, "frame.regions[0].label"),
    ("frame.regions.0.label", "\ud800", "frame.regions[0].label"),
    ("frame.regions.0.confidence", "high", "frame.regions[0].confidence"),
    ("frame.regions.0.confidence", True, "frame.regions[0].confidence"),
    ("frame.regions.0.confidence", 10**400, "frame.regions[0].confidence"),
    ("frame.regions.0.metadata", None, "frame.regions[0].metadata"),
    ("frame.metadata", [], "frame.metadata"),
    ("frame.metadata.a", 1 << 63, "frame.metadata['a']"),
    ("frame.metadata", {"$fraction": [1, 2]}, "frame.metadata"),
    ("frame.metadata", {"$bytes": ""}, "frame.metadata"),
    ("frame.metadata.a", {"$fraction": [1, 0]}, "frame.metadata['a']"),
    ("frame.metadata.a", {"$fraction": [1, -2]}, "frame.metadata['a']"),
    ("frame.metadata.a", {"$fraction": [1]}, "frame.metadata['a']"),
    ("frame.metadata.a", {"$fraction": [1, True]}, "frame.metadata['a']"),
    ("frame.metadata.a", {"$fraction": [0.5, 2]}, "frame.metadata['a']"),
    ("frame.metadata.a", {"$fraction": "1/2"}, "frame.metadata['a']"),
    ("frame.metadata.a", {"$bytes": "AQI"}, "frame.metadata['a']"),
    ("frame.metadata.a", {"$bytes": "é"}, "frame.metadata['a']"),
    ("frame.metadata.a", {"$bytes": 3}, "frame.metadata['a']"),
    ("frame.metadata.a", {"$bytes": []}, "frame.metadata['a']"),
    ("frame.metadata", {"$tuple": []}, "frame.metadata"),
    ("frame.metadata.a", {"$tuple": 3}, "frame.metadata['a']"),
    ("frame.metadata.a", {"$tuple": {}}, "frame.metadata['a']"),
    ("frame.metadata.a", {"$object": 3}, "frame.metadata['a']"),
    ("frame.metadata.a", {"$object": [{}]}, "frame.metadata['a']"),
    ("frame.metadata.a", "\udfff", "frame.metadata['a']"),
]


@pytest.mark.parametrize(
    ("document", "path", "value", "field"),
    [(TENSOR, *row) for row in WRONG]
    + [(FRAME, *row) for row in WRONG_FRAMES]
    + [(TYPED, *row) for row in WRONG_ENTRIES],
    ids=lambda x: repr(x)[:40] if not isinstance(x, dict) else "",
)
def test_a_wrong_value_is_named(
    streams: Sockets, sealed: MakeMemfd, document: Document, path: str, value: object, field: str
) -> None:
    sent = message(changed(document, path, value))
    assert refused(streams, sent, [sealed()]).field == field


@pytest.mark.parametrize("text", [b'{"a":1e999}', b'{"a":' + b"[" * 17 + b"]" * 17 + b"}"])
def test_metadata_that_python_would_not_write(
    streams: Sockets, sealed: MakeMemfd, text: bytes
) -> None:
    body = json.dumps(FRAME).encode().replace(b'{"a": 1}', text)
    assert refused(streams, message(body), [sealed()]).field.startswith("frame.metadata['a']")


def test_tiled_memory(streams: Sockets, sealed: MakeMemfd) -> None:
    plane = {**PLANE, "strides": None, "modifier": Y_TILED}
    for wrong in (
        {"shape": [64, 65]},
        {"shape": [1 << 30, 1 << 30]},
        {"offset": 4096},
        {"offset": 2049},
        {"pitch": 63},
        {"dtype": "uint4"},
    ):
        sent = message({"readonly": False, "tensor": {**plane, **wrong}})
        assert refused(streams, sent, [sealed()]).field == "tensor"
    socket.send_fds(
        streams[0], [message({"readonly": False, "tensor": {**plane, "pitch": 128}})], [sealed()]
    )
    tensor = receive(streams[1])
    assert tensor.strides is None  # type: ignore[union-attr]  # a tensor
    with pytest.raises(SamebytesError, match="linear"):
        tensor.map("cpu")


def test_messages_that_end_too_soon(sealed: MakeMemfd) -> None:
    sent = message(TENSOR)
    for end in (1, 11, 12, 13, len(sent) - 1):
        ours, theirs = socket.socketpair()
        with ours, theirs:
            socket.send_fds(ours, [sent[:end]], [sealed()])
            ours.shutdown(socket.SHUT_WR)
            with pytest.raises(
                MessageError, match=f"ends after {end if end < 12 else end - 12} of"
            ):
                receive(theirs)


def test_packets_of_another_length(sealed: MakeMemfd) -> None:
    sent = message(TENSOR)
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours, theirs:
        both = ours, theirs
        assert refused(both, sent[:-1], [sealed()]).field == "message"
        assert refused(both, sent[:5], [sealed()]).field == "message"
        assert refused(both, sent + b" ", [sealed()]).field == "length"
        assert refused(both, sent + bytes(1 << 16), [sealed()]).field == "length"
        assert refused(both, b"", [sealed()]).field == "message"
        # Packets stay apart: the next one is whole.
        socket.send_fds(ours, [sent], [sealed()])
        assert receive(theirs).context.node == "dma"
        ours.close()
        with pytest.raises(EndOfStreamError):
            receive(theirs)
