# SPDX-License-Identifier: Apache-2.0
"""The camera's side of RTSP over one TCP connection, for a transport stream (RFC 2326, 2250)."""

from __future__ import annotations

import socket
import struct

__all__ = ["Interleaved", "shake_hands"]

_SDP = (
    "v=0\r\no=- 0 0 IN IP4 127.0.0.1\r\ns=camera\r\nc=IN IP4 0.0.0.0\r\nt=0 0\r\n"
    "m=video 0 RTP/AVP 33\r\na=control:track1\r\n"
)
_PER_PACKET = 7 * 188
_LARGEST_REQUEST = 8192


class Interleaved:
    """A connection on which what is sent comes as packets of RTP.

    A packet says how long it is before its bytes come. So what does not fill the last packet ends
    in the middle of it.
    """

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._number = 0

    def sendall(self, data: bytes) -> None:
        """Send a part of a transport stream."""
        for start in range(0, len(data), _PER_PACKET):
            part = data[start : start + _PER_PACKET]
            rtp = struct.pack(">BBHII", 0x80, 33, self._number & 0xFFFF, self._number * 900, 7)
            head = struct.pack(">cBH", b"$", 0, len(rtp) + _PER_PACKET)
            self._connection.sendall(head + rtp + part)
            self._number += 1

    def dup(self) -> socket.socket:
        """Another descriptor of the connection."""
        return self._connection.dup()

    def recv(self, count: int) -> bytes:
        """Receive what the other side says."""
        return self._connection.recv(count)


def shake_hands(connection: socket.socket) -> Interleaved | None:
    """Answer until the other side asks for pictures; None if it goes before."""
    while request := _request(connection):
        method, _, _ = request.partition(" ")
        number = next(
            line.partition(":")[2].strip()
            for line in request.splitlines() if line.lower().startswith("cseq:")
        )  # fmt: skip
        more, body = {
            "OPTIONS": ("Public: DESCRIBE, SETUP, PLAY, TEARDOWN\r\n", ""),
            "DESCRIBE": ("Content-Type: application/sdp\r\n", _SDP),
            "SETUP": ("Transport: RTP/AVP/TCP;unicast;interleaved=0-1\r\nSession: 5\r\n", ""),
            "PLAY": ("Session: 5\r\n", ""),
        }.get(method, ("", ""))
        length = f"Content-Length: {len(body)}\r\n" if body else ""
        connection.sendall(
            f"RTSP/1.0 200 OK\r\nCSeq: {number}\r\n{more}{length}\r\n{body}".encode()
        )
        if method == "PLAY":
            return Interleaved(connection)
    return None


def _request(connection: socket.socket) -> str:
    """The next one with its lines; empty at the end of the connection."""
    said = b""
    while not said.endswith(b"\r\n\r\n"):
        part = connection.recv(1)
        if not part or len(said) > _LARGEST_REQUEST:
            return ""
        said += part
    return said.decode()
