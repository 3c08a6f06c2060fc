# SPDX-License-Identifier: Apache-2.0
"""send() and receive(): the same memory with the same layout, and what cannot be sent."""

from __future__ import annotations

import gc
import os
import socket
import threading
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import samebytes
from samebytes import Fd, Frame, Region, TensorInfo
from samebytes.errors import AccessError, UnsupportedObjectError
from samebytes.testing import assert_steady
from samebytes_dma import DMABuffer, DMATensor, frame_from_fds, from_fd
from samebytes_ipc import EndOfStreamError, MessageError, receive, send

from .through_sockets import Y_TILED, MakeMemfd, Sockets, passed_frame, passed_tensor, same_memory


def test_a_tensor(sockets: Sockets) -> None:
    with samebytes.context("dma").allocate((4, 6), "int16") as tensor:
        assert isinstance(tensor, DMATensor)
        got = passed_tensor(sockets, tensor)
        assert got.context == tensor.context
        assert got.info == tensor.info
        assert same_memory(got.handle(), tensor.handle())
        assert not os.get_inheritable(got.handle())
        assert not got.readonly
        with got.map("cpu", "w") as view:
            view.native[...] = 7
        assert (tensor.map("cpu").native == 7).all()
        got.close()


def test_a_layout(sockets: Sockets, memfd: MakeMemfd) -> None:
    fd = memfd(8192)
    for tensor in (
        from_fd(fd, (4, 10, 3), pitch=64, offset=16),
        from_fd(fd, (4, 10), "float32", strides=(-64, 4), offset=3 * 64),
        from_fd(fd, (), "float64", offset=8),
        from_fd(fd, (5, 3), "uint4", offset=5),
        from_fd(fd, (16, 16), modifier=Y_TILED, pitch=128, offset=4096),
        from_fd(fd, (16, 16), modifier=(1 << 64) - 1),
    ):
        got = passed_tensor(sockets, tensor, trusted=True)
        assert got.info == tensor.info
        mine, theirs = tensor.native, got.native
        assert theirs.offset == mine.offset
        assert theirs.pitch == mine.pitch
        assert theirs.modifier == mine.modifier


def test_a_frame(sockets: Sockets) -> None:
    with samebytes.context("dma").allocate_frame("P010", 16, 8) as frame:
        frame.meta.pts, frame.meta.time_base = -42, Fraction(1, 90_000)
        frame.metadata["camera"] = {"name": "Tür", "gain": [1.5, -2, True, None]}
        frame.regions.append(Region(1, -2, 3, 4, "cat", 0.5, {"id": 7}))
        frame.regions.append(Region(0, 0, 16, 8))
        got = passed_frame(sockets, frame)
        assert got.image == frame.image
        assert (got.pts, got.meta.time_base) == (-42, Fraction(1, 90_000))
        assert got.metadata == frame.metadata
        assert got.regions == frame.regions
        assert [p.info for p in got] == [p.info for p in frame]
        assert [p.handle("offset") for p in got] == [p.handle("offset") for p in frame]
        assert len({p.handle() for p in got}) == 1
        with frame.map("cpu", "w") as view:
            view.planes[1].native[...] = 1000
        assert (got.map("cpu").planes[1].native == 1000).all()
        got.close()


def test_a_frame_in_several_buffers(sockets: Sockets, memfd: MakeMemfd) -> None:
    y, uv = memfd(4096), memfd(8192)
    frame = frame_from_fds(
        [y, uv, uv], "I420", 32, 32, pitches=(64, 32, 32), offsets=(100, 16, 4096)
    )
    got = passed_frame(sockets, frame, trusted=True)
    assert [p.handle("offset") for p in got] == [100, 16, 4096]
    assert same_memory(got.planes[0].handle(), y)
    assert got.planes[1].handle() == got.planes[2].handle()
    assert same_memory(got.planes[2].handle(), uv)
    got.wait()


def test_modifiers_of_their_own(sockets: Sockets, memfd: MakeMemfd) -> None:
    frame = frame_from_fds(memfd(8192), "NV12", 32, 32, offsets=(0, 4096), modifier=(0, Y_TILED))
    got = passed_frame(sockets, frame, trusted=True)
    assert [p.handle("drm_modifier") for p in got] == [0, Y_TILED]
    assert [p.strides for p in got] == [(32, 1), None]


def test_planes_without_an_image(sockets: Sockets) -> None:
    with samebytes.context("dma").allocate((64,)) as tensor:
        plane = tensor.native
        meta = samebytes.FrameMeta(None, pts=3)
        frame = Frame.borrowed((plane, plane), tensor.context, meta, keep=plane)
        got = passed_frame(sockets, frame)
        assert (got.media, len(got), got.pts) == ("tensors", 2, 3)
        del frame, plane, got


def test_what_may_only_be_read_stays_so(sockets: Sockets, tmp_path: Path) -> None:
    with samebytes.context("dma").allocate_frame("NV12", 8, 4) as frame:
        got = passed_frame(sockets, frame.map("dma"))
        assert got.readonly
        assert all(p.readonly for p in got)
        with pytest.raises(AccessError):
            got.map("cpu", "rw")
        got.close()
        plane = frame.planes[0].map("dma")
        assert isinstance(plane, DMATensor)
        assert passed_tensor(sockets, plane).readonly
        plane.close()
    path = tmp_path / "bytes"
    path.write_bytes(bytes(64))
    with Fd(os.open(path, os.O_RDONLY)) as fd:
        assert passed_tensor(sockets, from_fd(fd, (64,)), trusted=True).readonly


def test_a_receiver_that_is_gone_ends_no_program(sockets: Sockets, sigpipe: list[int]) -> None:
    sockets[1].close()
    with samebytes.context("dma").allocate((4,)) as tensor:
        assert isinstance(tensor, DMATensor)
        with pytest.raises(BrokenPipeError):
            send(sockets[0], tensor)
    assert not sigpipe


def test_several_in_a_row(sockets: Sockets) -> None:
    """Each with its own descriptors, and bytes of the user's between them."""
    context = samebytes.context("dma")
    sent = [context.allocate((n + 1,)) for n in range(5)]
    for number, tensor in enumerate(sent):
        assert isinstance(tensor, DMATensor)
        send(sockets[0], tensor)
        sockets[0].sendall(bytes([number]))
    for number, tensor in enumerate(sent):
        got = receive(sockets[1])
        assert isinstance(got, DMATensor)
        assert got.shape == (number + 1,)
        assert same_memory(got.handle(), tensor.handle())
        assert sockets[1].recv(1) == bytes([number])


def test_the_sender_may_close_at_once(sockets: Sockets) -> None:
    tensor = samebytes.context("dma").allocate((16,))
    assert isinstance(tensor, DMATensor)
    with tensor.map("cpu", "w") as view:
        view.native[...] = 5
    send(sockets[0], tensor)
    tensor.close()
    sockets[0].close()
    array = receive(sockets[1]).map("cpu").native
    assert array.sum() == 80
    with pytest.raises(EndOfStreamError):
        receive(sockets[1])
    with pytest.raises(EOFError):  # as Connection.recv() of multiprocessing
        receive(sockets[1])


def test_a_message_in_pieces(streams: Sockets) -> None:
    """As a stream may hand it out: one byte at a time."""
    ours, theirs = streams
    end, relay = socket.socketpair()
    with end, relay, samebytes.context("dma").allocate((8, 8)) as tensor:
        assert isinstance(tensor, DMATensor)
        send(ours, tensor)
        message, fds, _, _ = socket.recv_fds(theirs, 1 << 17, 4)

        def drip() -> None:
            socket.send_fds(relay, [message[:1]], fds)
            for byte in message[1:]:
                relay.sendall(bytes([byte]))

        thread = threading.Thread(target=drip)
        thread.start()
        got = receive(end)
        thread.join()
        for fd in fds:
            os.close(fd)
        assert isinstance(got, DMATensor)
        assert same_memory(got.handle(), tensor.handle())
        got.close()


def test_nobody_sends(sockets: Sockets) -> None:
    sockets[1].settimeout(0.01)
    with pytest.raises(TimeoutError):
        receive(sockets[1])


def test_nobody_goes_on_sending(streams: Sockets) -> None:
    ours, theirs = streams
    theirs.settimeout(0.01)
    with samebytes.context("dma").allocate((8, 8)) as tensor:
        socket.send_fds(ours, [b"SBDM"], [tensor.handle()])
        with pytest.raises(TimeoutError):
            receive(theirs)


def test_one_byte_now_and_then_is_too_slow(streams: Sockets) -> None:
    """The socket's timeout is for the whole message, not for each byte of it."""
    _, theirs = streams

    class Slow(socket.socket):
        def recvmsg(self, *_: int) -> tuple[bytes, list[tuple[int, int, bytes]], int, None]:
            time.sleep(0.02)
            return b"S", [], 0, None

    with Slow(fileno=os.dup(theirs.fileno())) as slow:
        slow.settimeout(0.01)
        with pytest.raises(TimeoutError, match="in the middle"):
            receive(slow)


def test_what_cannot_be_sent(sockets: Sockets) -> None:
    ours, _ = sockets
    array: Any = samebytes.context("cpu").allocate((4,))
    # Nothing maps it to "dma", so the message does not advise that.
    with pytest.raises(UnsupportedObjectError, match=r"RingWriter.send.*copied\(item\)") as refused:
        send(ours, array)
    assert "map(" not in str(refused.value)
    with samebytes.context("dma").allocate((0, 4)) as empty:
        assert isinstance(empty, DMATensor)
        with pytest.raises(MessageError) as caught:
            send(ours, empty)
        assert caught.value.field == "tensor.shape[0]"
        del caught
    with samebytes.context("dma").allocate((64,)) as tensor:
        plane = tensor.native
        sound = samebytes.FrameMeta(samebytes.AudioInfo(64, 1, 8000, "uint8"))
        frame = Frame.borrowed((plane,), tensor.context, sound, keep=plane)
        with pytest.raises(UnsupportedObjectError, match="frame of sound"):
            send(ours, frame)
        many = Frame.borrowed((plane,) * 65, tensor.context, samebytes.FrameMeta(None), keep=plane)
        with pytest.raises(MessageError, match="65 items, but at most 64 are allowed"):
            send(ours, many)
        frame.close()
        with pytest.raises(ValueError, match="closed"):
            send(ours, frame)
        del plane, many


def test_a_format_of_this_process_alone(sockets: Sockets) -> None:
    known = samebytes.ImageFormat.of("GRAY8")
    for name in ("GRAY8", "MINE"):
        mine = samebytes.ImageFormat(
            name, known.planes, plane_names=("y",), color_model="gray", bit_depth=7
        )
        with (
            samebytes.context("dma").allocate_frame(mine, 8, 4) as frame,
            pytest.raises(UnsupportedObjectError, match="known to this process alone"),
        ):
            send(sockets[0], frame)


@pytest.mark.parametrize("use", [send, receive])
def test_what_is_no_such_socket(use: Callable[..., object]) -> None:
    with samebytes.context("dma").allocate((4,)) as tensor:
        arguments = (tensor,) if use is send else ()
        with pytest.raises(UnsupportedObjectError, match="a int is not a socket"):
            use(3, *arguments)
        for family, kind in (
            (socket.AF_INET, socket.SOCK_STREAM),
            (socket.AF_UNIX, socket.SOCK_DGRAM),
        ):
            with (
                socket.socket(family, kind) as other,
                pytest.raises(UnsupportedObjectError, match=f"not through {family.name}"),
            ):
                use(other, *arguments)
        with socket.socket(socket.AF_UNIX) as asleep:
            asleep.setblocking(False)
            with pytest.raises(UnsupportedObjectError, match="non-blocking"):
                use(asleep, *arguments)


def test_the_other_side_is_gone(sockets: Sockets) -> None:
    ours, theirs = sockets
    theirs.close()
    with samebytes.context("dma").allocate((4,)) as tensor:
        assert isinstance(tensor, DMATensor)
        with pytest.raises(BrokenPipeError):
            send(ours, tensor)


def test_nothing_stays(sockets: Sockets) -> None:
    with samebytes.context("dma").allocate_frame("NV12", 8, 4) as frame:

        def once() -> None:
            assert passed_frame(sockets, frame).map("cpu").planes[1].native[0, 0, 0] == 0

        assert_steady(once, 300)


def test_drops_in_any_order(sockets: Sockets) -> None:
    gc.disable()
    try:
        tensor = samebytes.context("dma").allocate((16,))
        assert isinstance(tensor, DMATensor)
        got = passed_tensor(sockets, tensor)
        number = got.handle()
        plane, array = got.native, got.map("cpu", "rw").native
        got.close()
        tensor.close()
        array[...] = 3
        os.fstat(number)
        del plane
        del got
        assert array.sum() == 48
        del array
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.fstat(number)
    finally:
        gc.enable()


def test_descriptors_of_several_objects_over_one_storage(sockets: Sockets) -> None:
    """Two buffer objects around one storage are the same buffer."""
    with samebytes.context("dma").allocate_frame("NV12", 8, 4) as frame:
        first, second = frame.native
        again = object.__new__(DMABuffer)
        for name in ("_fd", "size", "readonly", "is_dma_buf", "storage"):
            object.__setattr__(again, name, getattr(first.buffer, name))
        planes = (again.plane(TensorInfo("uint8", (4, 8))), second)
        twice = Frame.borrowed(planes, frame.context, frame.meta)
        got = passed_frame(sockets, twice)
        assert len({p.handle() for p in got}) == 1
        del first, second, again, planes, twice, got
