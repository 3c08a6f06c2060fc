# SPDX-License-Identifier: Apache-2.0
"""Memory that another process may fetch, once, with a key that it was given."""

from __future__ import annotations

import errno
import os
import secrets
import select
import socket
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from samebytes import Fd
from samebytes.errors import CopyRequiredError
from samebytes.plugins import Lock, in_forked_child

from .._errors import EndOfStreamError, MessageError, OfferError
from .._send import prepared, receive
from .._sockets.peers import user_of
from .._sockets.transport import send_message
from .._sockets.waiting import LONGEST_WAIT, eventfd

if TYPE_CHECKING:
    from samebytes import Frame
    from samebytes_dma import DMABuffer, DMATensor

__all__ = ["offer", "offers", "opened", "set_pickle_timeout"]

_KEY = 16
_ANSWER_SECONDS = 10.0
_KEY_SECONDS = 2.0
# Connections of one user that have not sent their key. Beyond that, the oldest one is closed.
_MOST_SILENT = 16
_NAP = 0.02
# Errors of accept() that mean a shortage here; the client stays in the kernel's queue.
_NO_ROOM = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)
_NO_ROOM_SECONDS = 0.1
_LAST_SECONDS = 2.0


class _Offer(NamedTuple):
    """The message that one key fetches, and the memory that it keeps until then."""

    body: bytes
    buffers: list[DMABuffer]
    item: Any
    until: float


class _Client:
    """A connected client, and the part of its key that has come."""

    def __init__(self, sock: socket.socket, user: int) -> None:
        self.sock = sock
        self.user = user
        self.key = bytearray()
        self.until = time.monotonic() + _KEY_SECONDS


class Offers:
    """The offers of this process. A thread answers requests while there are any."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._offers: dict[bytes, _Offer] = {}
        self._listener: socket.socket | None = None
        self._wake: Fd | None = None
        self._running = False
        self._clients: list[_Client] = []
        self.seconds = 300.0

    def __len__(self) -> int:
        """Return the number of offers that have not been fetched yet."""
        return len(self._offers)

    def add(self, item: DMATensor | Frame) -> tuple[bytes, bytes]:
        """Offer an item, and return the address where it can be fetched and the key for it."""
        try:
            body, buffers = prepared(item, False)
        except CopyRequiredError as error:
            remedy = "a pickle takes no copy=True: pickle samebytes.copied(frame)"
            reasons = [*error.reasons, remedy]
            raise CopyRequiredError(error.source, error.target, error.edge, reasons) from None
        item.wait()
        key = secrets.token_bytes(_KEY)
        with self._lock:
            if self._listener is None or self._wake is None:
                wake = eventfd()  # this process may have no descriptor left for one of the two
                self._listener, self._wake = _listening(), wake
            if not self._running:
                self._begin()
            self._offers[key] = _Offer(body, buffers, item, time.monotonic() + self.seconds)
            os.eventfd_write(self._wake.fileno(), 1)
            address: bytes = self._listener.getsockname()
            return address, key

    def _begin(self) -> None:
        self._running = True
        try:
            threading.Thread(target=self._answer, name="samebytes offers", daemon=True).start()
        except RuntimeError:  # the system gives this process no more threads
            self._running = False
            raise

    def wait_until_fetched(self) -> None:
        """Return when nothing is offered any more, or after a moment."""
        deadline = time.monotonic() + _LAST_SECONDS
        while self._running and time.monotonic() < deadline:
            time.sleep(_NAP)

    def forget_old(self) -> float | None:
        """Drop offers that nobody fetched in time; return the seconds until the next, or None."""
        now = time.monotonic()
        with self._lock:
            for key in [key for key, known in self._offers.copy().items() if known.until <= now]:
                del self._offers[key]
            return min((o.until - now for o in self._offers.values()), default=None)

    def _answer(self) -> None:
        """Answer clients until nothing is offered any more: the body of the thread."""
        while True:
            seconds = self.forget_old()
            with self._lock:
                listener, wake = self._listener, self._wake
                if listener is None or wake is None or not self._offers:
                    self._running = False
                    self._close()
                    return
            for client in [c for c in self._clients if c.until <= time.monotonic()]:
                self._disconnect(client)
            now = time.monotonic()
            nearest = [LONGEST_WAIT, *(client.until - now for client in self._clients)]
            if seconds is not None:
                nearest.append(seconds)
            waiting = select.poll()
            sockets = [listener, *(client.sock for client in self._clients)]
            for number in (wake.fileno(), *(sock.fileno() for sock in sockets)):
                waiting.register(number, select.POLLIN)
            ready = {n for n, _ in waiting.poll(max(min(nearest), 0) * 1000 + 1)}
            with suppress(BlockingIOError):
                os.eventfd_read(wake.fileno())
            # A client that sends nonsense, or nothing, does not keep the others waiting.
            for client in [c for c in self._clients if c.sock.fileno() in ready]:
                self._read_key(client)
            if listener.fileno() in ready:
                self._accept(listener)

    def _accept(self, listener: socket.socket) -> None:
        try:
            sock, _ = listener.accept()
        except OSError as error:
            if error.errno in _NO_ROOM:  # poll() would return at once, again and again
                time.sleep(_NO_ROOM_SECONDS)
            return
        user = user_of(sock)
        if user not in (os.getuid(), 0):
            sock.close()
            return
        sock.setblocking(False)
        client = _Client(sock, user)
        self._clients.append(client)
        self._read_key(client)
        silent = [c for c in self._clients if c.user == user]
        if len(silent) > _MOST_SILENT:
            self._disconnect(silent[0])

    def _read_key(self, client: _Client) -> None:
        """Read what has come of a client's key; once it is whole, send what it stands for."""
        try:
            part = client.sock.recv(_KEY - len(client.key))
        except BlockingIOError:
            return
        except OSError:
            part = b""
        client.key += part
        if part and len(client.key) < _KEY:
            return
        with self._lock:
            found = self._offers.pop(bytes(client.key), None)
        if found is not None:
            client.sock.settimeout(_KEY_SECONDS)
            with suppress(OSError):  # the client is gone
                send_message(client.sock, found.body, [b.fileno() for b in found.buffers])
        self._disconnect(client)

    def _disconnect(self, client: _Client) -> None:
        self._clients.remove(client)
        client.sock.close()

    def _close(self) -> None:
        if self._listener is not None:
            self._listener.close()
        if self._wake is not None:
            self._wake.close()
        for client in self._clients:
            client.sock.close()
        self._clients.clear()
        self._listener = self._wake = None

    def leave_to_the_parent(self) -> list[object]:
        """Stop offering in a forked child, which does not have the thread that would answer.

        Returns:
            What is offered, which the parent releases.
        """
        offered = list[object](self._offers.values())
        self._offers.clear()
        self._running = False
        self._close()
        return offered


offers = Offers()
in_forked_child(offers.leave_to_the_parent)


def offer(item: DMATensor | Frame) -> tuple[bytes, bytes]:
    """See `Offers.add`."""
    return offers.add(item)


def opened(address: bytes, key: bytes) -> DMATensor | Frame:
    """The tensor or frame that is offered there: what loading a pickle calls.

    Raises:
        OfferError: it was fetched already, or not in time, or the process that offers it is gone
            or does not answer, or one of another user has taken its place.
    """
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as sock:
        sock.settimeout(_ANSWER_SECONDS)
        try:
            _connect(sock, address)
            _check_user(sock)
            sock.sendall(key, socket.MSG_NOSIGNAL)
            # A pickle can call anything: whoever loads it trusts the process that made it.
            return receive(sock, trusted=True)
        except (TimeoutError, BlockingIOError) as error:
            raise OfferError(
                "the process that made this pickle of a tensor or frame did not answer within "
                f"{_ANSWER_SECONDS:g} s: it is stopped, or has no descriptors left"
            ) from error
        except (EndOfStreamError, MessageError, ConnectionError, FileNotFoundError) as error:
            if isinstance(error, MessageError) and error.field != "message":
                raise  # the message came whole, and is invalid
            raise OfferError(
                "this pickle of a tensor or frame was loaded before, or too late, or the process "
                "that made it has ended: one pickle is for one receiver, which must load it "
                f"within {offers.seconds:g} s while the sender lives; samebytes.copied(frame) has "
                "no such limits"
            ) from error


def _connect(sock: socket.socket, address: bytes) -> None:
    deadline = time.monotonic() + _ANSWER_SECONDS
    while True:
        try:
            sock.connect(address)
        except BlockingIOError:  # a socket with a time-out does not wait for room in the queue
            if time.monotonic() >= deadline:
                raise
            time.sleep(_NAP)
        else:
            return


def _check_user(sock: socket.socket) -> None:
    """An abstract name is free when its owner ends, and any user may take it.

    Raises:
        OfferError: another one has.
    """
    user = user_of(sock)
    if user not in (os.getuid(), 0):
        raise OfferError(
            f"a process of user {user} answers in place of the one that made this pickle of a "
            f"tensor or frame. Memory is taken from processes of user {os.getuid()} and of root "
            "alone; samebytes.copied(frame) goes between users"
        )


def set_pickle_timeout(seconds: float) -> None:
    """Set how long memory is kept that was pickled for another process and not loaded there.

    Args:
        seconds: how many seconds, from the moment of pickling; 300 at first. It applies to what
            this process pickles from now on.

    Raises:
        ValueError: not a number above 0.
    """
    if not seconds > 0:
        raise ValueError(f"seconds={seconds}: it is more than 0")
    offers.seconds = seconds


def _listening() -> socket.socket:
    """A socket at an abstract address that the kernel chooses: unix(7), "Autobind feature"."""
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        sock.bind("")
        sock.listen(64)
        sock.setblocking(False)
    except BaseException:
        sock.close()
        raise
    return sock
