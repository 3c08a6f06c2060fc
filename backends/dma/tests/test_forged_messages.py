# SPDX-License-Identifier: Apache-2.0
"""What a hostile sender may try: it is refused by the field's name, and its descriptors are closed.

The messages are written by hand here, as docs/reference/dma-wire.md describes them.
"""

from __future__ import annotations

import copy
import fcntl
import json
import os
import select
import socket
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from samebytes import Fd, Frame, metadata
from samebytes.errors import SamebytesError
from samebytes_dma import DMATensor, EndOfStreamError, MessageError, receive

Sockets = tuple[socket.socket, socket.socket]
MakeMemfd = Callable[..., int]
Document = dict[str, Any]

PLANE: Document = {
    "buffer": 0, "dtype": "uint8", "shape": [32, 64], "strides": [64, 1], "offset": 0,
    "pitch": None, "modifier": 0,
}  # fmt: skip
TENSOR: Document = {"readonly": False, "tensor": PLANE}
REGION: Document = {
    "x": 0, "y": 0, "width": 4, "height": 4, "label": "cat", "confidence": 0.5, "metadata": {},
    "entries": [],
}  # fmt: skip
FRAME: Document = {
    "readonly": False,
    "frame": {
        "planes": [PLANE, {**PLANE, "shape": [16, 32, 2], "strides": [64, 2, 1], "offset": 2048}],
        "image": {"format": "NV12", "width": 64, "height": 32},
        "pts": 1,
        "time_base": [1, 30],
        "regions": [REGION],
        "metadata": {"a": 1},
        "entries": [],
    },
}
Y_TILED = 0x0100000000000002  # drm_fourcc.h: I915_FORMAT_MOD_Y_TILED
ABSENT = object()


def message(
    body: Document | bytes, descriptors: int = 1, *, magic: bytes = b"SBDM", version: int = 1,
    length: int | None = None,
) -> bytes:  # fmt: skip
    """A whole message; a document is written as JSON."""
    text = body if isinstance(body, bytes) else json.dumps(body).encode()
    nbytes = len(text) if length is None else length
    return struct.pack("<4sHHI", magic, version, descriptors, nbytes) + text


def changed(document: Document, path: str, value: object) -> Document:
    """The document with another value at "frame.planes.1.offset"."""
    new = copy.deepcopy(document)
    *way, last = path.split(".")
    inner: Any = new
    for step in way:
        inner = inner[int(step) if isinstance(inner, list) else step]
    if value is ABSENT:
        del inner[last]
    elif isinstance(inner, list):
        inner[int(last)] = value
    else:
        inner[last] = value
    return new


@pytest.fixture
def sealed(memfd: MakeMemfd) -> Callable[..., int]:
    """Makes memfds as a friend does."""

    def make(size: int = 4096) -> int:
        fd = memfd(size)
        fcntl.fcntl(fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK)
        return fd

    return make


def refused(sockets: Sockets, sent: bytes, fds: list[int], trusted: bool = False) -> MessageError:
    """What receive() says to bytes and descriptors, after which nothing of them is open."""
    before = sorted(os.listdir("/proc/self/fd"))  # noqa: PTH208 - names alone
    socket.send_fds(sockets[0], [sent], fds)
    with pytest.raises(MessageError) as caught:
        receive(sockets[1], trusted=trusted)
    assert sorted(os.listdir("/proc/self/fd")) == before  # noqa: PTH208 - as above
    assert str(caught.value).startswith(f"{caught.value.field}: ")
    return caught.value


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


@pytest.mark.parametrize("count", [0, 2, 64, 65, 253])
def test_other_descriptors_than_were_announced(
    sockets: Sockets, sealed: MakeMemfd, count: int
) -> None:
    assert refused(sockets, message(TENSOR), [sealed()] * count).field == "descriptors"


def test_descriptors_that_nothing_lies_in(sockets: Sockets, sealed: MakeMemfd) -> None:
    error = refused(sockets, message(TENSOR, 3), [sealed(), sealed(), sealed()])
    assert error.field == "descriptors[1]"


def test_descriptors_all_along_a_message(streams: Sockets, sealed: MakeMemfd) -> None:
    """A sender could attach some to every byte: no more are taken than a message may have."""
    ours, theirs = streams
    fds = [sealed() for _ in range(40)]
    sent = message(TENSOR)
    before = sorted(os.listdir("/proc/self/fd"))  # noqa: PTH208 - names alone
    for start in range(0, len(sent), 50):
        socket.send_fds(ours, [sent[start : start + 50]], fds)
    with pytest.raises(MessageError) as caught:
        receive(theirs)
    assert caught.value.field == "descriptors"
    assert sorted(os.listdir("/proc/self/fd")) == before  # noqa: PTH208 - as above


def test_a_process_without_room_for_descriptors(sockets: Sockets, sealed: MakeMemfd) -> None:
    """MSG_CTRUNC: the kernel closes those that it could not hand out."""
    import resource

    fds = [sealed() for _ in range(3)]
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    highest = max(int(p.name) for p in Path("/proc/self/fd").iterdir())
    socket.send_fds(sockets[0], [message(TENSOR, 3)], fds)
    taken = [os.dup(0) for _ in range(highest + 20 - len(os.listdir("/proc/self/fd")))]  # noqa: PTH208 - a count
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(taken) + 2, hard))
        with pytest.raises(MessageError, match="more than this process may open"):
            receive(sockets[1])
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        for fd in taken:
            os.close(fd)


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


@pytest.fixture
def odd_descriptors(tmp_path: Path) -> Iterator[dict[str, int]]:
    """Descriptors that are not memory, or memory that can change its size."""
    path = tmp_path / "bytes"
    path.write_bytes(bytes(4096))
    reader, writer = os.pipe()
    one, other = socket.socketpair()
    epoll = select.epoll()
    made = {
        "a pipe": reader,
        "a pipe's other end": writer,
        "a socket": one.detach(),
        "another socket": other.detach(),
        "a directory": os.open(tmp_path, os.O_RDONLY),
        "a device": os.open("/dev/zero", os.O_RDWR),
        "a file of /proc": os.open("/proc/self/maps", os.O_RDONLY),
        "a file": os.open(path, os.O_RDWR),
        "a path": os.open(path, os.O_PATH),
        "a file for writing": os.open(path, os.O_WRONLY),
        "an eventfd": os.eventfd(0),
        "an epoll": os.dup(epoll.fileno()),
        "a pidfd": os.pidfd_open(os.getpid()),
    }
    if Path("/dev/shm").is_dir():
        shared = Path("/dev/shm") / f"samebytes-test-{os.getpid()}"
        shared.write_bytes(bytes(4096))
        made["a file in memory"] = os.open(shared, os.O_RDWR)
        shared.unlink()
    epoll.close()
    yield made
    for fd in made.values():
        os.close(fd)


def test_descriptors_that_are_not_memory(sockets: Sockets, odd_descriptors: dict[str, int]) -> None:
    for what, fd in odd_descriptors.items():
        error = refused(sockets, message(TENSOR), [fd])
        assert error.field == "descriptors[0]", what
        assert "neither a DMA-BUF nor a memfd that is sealed" in str(error)


def test_trust_is_in_sizes_alone(sockets: Sockets, odd_descriptors: dict[str, int]) -> None:
    for what, fd in odd_descriptors.items():
        if what in ("a file", "a file in memory"):
            socket.send_fds(sockets[0], [message(TENSOR)], [fd])
            assert receive(sockets[1], trusted=True).map("cpu").native.sum() == 0, what
        else:
            error = refused(sockets, message(TENSOR), [fd], trusted=True)
            assert error.field == "descriptors[0]", what


def test_memfds_that_are_not_sealed(sockets: Sockets, memfd: MakeMemfd) -> None:
    fd = memfd()
    for seals in (0, fcntl.F_SEAL_GROW, fcntl.F_SEAL_WRITE):
        fcntl.fcntl(fd, fcntl.F_ADD_SEALS, seals)
        error = refused(sockets, message(TENSOR), [fd])
        assert error.field == "descriptors[0]"
        assert "F_SEAL_SHRINK" in str(error)
    socket.send_fds(sockets[0], [message(TENSOR)], [fd])
    trusting = receive(sockets[1], trusted=True)
    assert trusting.readonly  # F_SEAL_WRITE
    fcntl.fcntl(fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK)
    socket.send_fds(sockets[0], [message(TENSOR)], [fd])
    assert receive(sockets[1]).readonly


def test_nobody_can_cut_short_what_was_received(sockets: Sockets, sealed: MakeMemfd) -> None:
    """Reading on would be a SIGBUS."""
    fd = sealed()
    socket.send_fds(sockets[0], [message(TENSOR)], [fd])
    view = receive(sockets[1]).map("cpu")
    for size in (0, 4095):
        with pytest.raises(PermissionError):
            os.ftruncate(fd, size)
    assert view.native.sum() == 0


def test_memfds_of_huge_pages(sockets: Sockets) -> None:
    """Who punches a hole into one takes the page away, and reading it would be a SIGBUS."""
    try:
        number = os.memfd_create("samebytes-test", os.MFD_HUGETLB | os.MFD_ALLOW_SEALING)
    except OSError as error:
        pytest.skip(f"this kernel has no huge pages: {error}")
    with Fd(number):
        # Made, it takes no page yet: the machine need not have one.
        os.ftruncate(number, os.fstatvfs(number).f_bsize)
        fcntl.fcntl(number, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK)
        why = refused(sockets, message(TENSOR), [number])
        assert why.field == "descriptors[0]"
        assert "huge pages" in str(why)
        socket.send_fds(sockets[0], [message(TENSOR)], [number])
        assert isinstance(receive(sockets[1], trusted=True), DMATensor)


def test_names_of_files_do_not_write_to_the_terminal(sockets: Sockets, tmp_path: Path) -> None:
    path = tmp_path / "a\nb\x1b[2J"
    path.write_bytes(bytes(4096))
    with Fd(os.open(path, os.O_RDWR)) as fd:
        said = str(refused(sockets, message(TENSOR), [fd.fileno()]))
    assert said.isprintable()


def test_an_empty_memfd(sockets: Sockets, sealed: MakeMemfd) -> None:
    error = refused(sockets, message(TENSOR), [sealed(0)])
    assert error.field == "descriptors[0]"
    assert "no bytes" in str(error)


def test_one_bad_descriptor_among_good_ones(sockets: Sockets, sealed: MakeMemfd) -> None:
    second = changed(FRAME, "frame.planes.1.buffer", 1)
    reader, writer = os.pipe()
    with Fd(reader), Fd(writer):
        error = refused(sockets, message(second, 2), [sealed(), reader])
    assert error.field == "descriptors[1]"
