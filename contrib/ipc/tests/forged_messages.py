# SPDX-License-Identifier: Apache-2.0
"""Messages that are written by hand, as docs/reference/wire-format.md describes them."""

from __future__ import annotations

import copy
import json
import socket
import struct
from typing import Any

import pytest

from samebytes_ipc import MessageError, receive

from .both_ends import same_descriptors
from .through_sockets import Sockets

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
ABSENT = ...  # as a value: no such field. Its repr, unlike that of object(), is always the same.


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


def refused(sockets: Sockets, sent: bytes, fds: list[int], trusted: bool = False) -> MessageError:
    """Return the error of receive() for bytes and descriptors; it leaves none of them open."""
    with same_descriptors():
        socket.send_fds(sockets[0], [sent], fds)
        with pytest.raises(MessageError) as caught:
            receive(sockets[1], trusted=trusted)
    assert str(caught.value).startswith(f"{caught.value.field}: ")
    return caught.value
