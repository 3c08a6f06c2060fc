# SPDX-License-Identifier: Apache-2.0
"""Unix sockets of packets, and whether the process at the other end lives.

A path is a socket in the file system, which its owner alone may connect to. A name that begins
with "@" is abstract: it has no file, so the user of the peer is asked for.
"""

from __future__ import annotations

import array
import errno
import fcntl
import os
import select
import socket
import stat
import struct
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from operator import call
from pathlib import Path
from typing import Any

from samebytes.errors import UnsupportedObjectError
from samebytes.plugins import Fd, deferred

from .._passing.transport import SCM_CREDENTIALS
from .arguments import Address, name_of
from .errors import RingRefusedError

__all__ = [
    "CREDENTIALS_SIZE",
    "check_writer",
    "connected",
    "greet",
    "has_ended",
    "listening",
    "pidfd_of",
    "send_packet",
    "unlink",
    "user_of",
]

_CREDENTIALS = struct.Struct("iII")
CREDENTIALS_SIZE = _CREDENTIALS.size
_NAP = 0.02


def listening(address: Address) -> tuple[socket.socket, os.stat_result | None]:
    """A socket that listens there, and what its file is, by which it is known later.

    A file that a writer left which is gone is replaced.

    Raises:
        RingRefusedError: another process listens there.
        OSError: the system's: no such folder, no permission, too long a path.
    """
    name = name_of(address)
    if name.startswith("\0"):
        return _bound(address, name)
    with _one_at_a_time(Path(name).parent):
        return _bound(address, name)


def _bound(address: Address, name: str) -> tuple[socket.socket, os.stat_result | None]:
    while True:
        sock = _new()
        try:
            # Of the file that bind() makes: unix(7), "Pathname socket ownership and permissions".
            os.fchmod(sock.fileno(), 0o600)
            sock.bind(name)
            sock.listen(16)
        except OSError as error:
            sock.close()
            if not isinstance(error, FileExistsError) and error.errno != _ADDRESS_IN_USE:
                raise
            if name.startswith("\0") or _is_answered(name):
                raise RingRefusedError(f"another process writes to the ring {address}") from error
            Path(name).unlink(missing_ok=True)
        else:
            return sock, None if name.startswith("\0") else Path(name).stat()


@contextmanager
def _one_at_a_time(folder: Path) -> Iterator[None]:
    """Writers that listen in a folder do so one after another.

    Without that, one could remove the file that another one has just made: until that one
    listens, it does not answer, just as a writer that has ended. If the folder cannot be read, or
    another program has locked it, the writer goes on without the lock.
    """
    try:
        fd = Fd.returned_by(os.open, folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        yield
        return
    deadline = time.monotonic() + _LOCK_SECONDS
    with fd:
        while True:
            try:
                fcntl.flock(fd.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() < deadline:
                    time.sleep(_NAP / 10)
                    continue
            except OSError:  # this file system has no locks
                pass
            break
        try:
            yield
        finally:
            # A child that was forked meanwhile has it too, and would keep it.
            with suppress(OSError):
                fcntl.flock(fd.fileno(), fcntl.LOCK_UN)


_ADDRESS_IN_USE = 98
_LOCK_SECONDS = 1.0


def unlink(address: Address, made: os.stat_result | None) -> None:
    """Remove the file of a socket, unless it is another one by now."""
    if made is None:
        return
    path = Path(address)
    with suppress(OSError):
        if os.path.samestat(path.stat(), made):
            path.unlink()


def connected(address: Address, deadline: float, stopped: Callable[[], bool]) -> socket.socket:
    """A socket that is connected to a writer; waits for one that is not there yet.

    Args:
        address: where it listens.
        deadline: as of time.monotonic().
        stopped: whether to give up now.

    Raises:
        TimeoutError: there is none.
        InterruptedError: it was stopped.
        OSError: the system's, such as no permission.
    """
    name = name_of(address)
    while True:
        sock = _new()
        try:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
            sock.connect(name)
        except (FileNotFoundError, ConnectionRefusedError, BlockingIOError):
            sock.close()
        except BaseException:
            sock.close()
            raise
        else:
            return sock
        if stopped():
            raise InterruptedError
        if time.monotonic() >= deadline:
            raise TimeoutError(f"nobody writes to the ring {address}")
        time.sleep(min(_NAP, max(deadline - time.monotonic(), 0)))


def check(sock: socket.socket) -> None:
    """Make ready a socket of the caller's.

    Raises:
        UnsupportedObjectError: it is another kind of socket.
    """
    if not isinstance(sock, socket.socket):
        raise UnsupportedObjectError(
            f"sock={sock!r}: a ring needs a socket.socket, as by socket.socketpair("
            "socket.AF_UNIX, socket.SOCK_SEQPACKET)"
        )
    if sock.family != socket.AF_UNIX or sock.type != socket.SOCK_SEQPACKET:
        raise UnsupportedObjectError(
            "a ring needs a Unix socket that keeps packets apart, as by socket.socketpair("
            f"socket.AF_UNIX, socket.SOCK_SEQPACKET), not {sock.family.name} {sock.type.name}"
        )
    sock.setblocking(False)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)


def greet(sock: socket.socket, packet: bytes, then: Callable[[], object] | None = None) -> None:
    """Send the first packet, with the number of this process, which the kernel confirms.

    Args:
        then: notes that it was sent; no signal handler comes in between.
    """
    own = _CREDENTIALS.pack(os.getpid(), os.getuid(), os.getgid())
    credentials = (socket.SOL_SOCKET, SCM_CREDENTIALS, own)
    with deferred():
        sock.sendmsg([packet], [credentials])
        if then is not None:
            then()


def send_packet(
    sock: socket.socket,
    packet: bytes,
    descriptors: Sequence[int] = (),
    then: Sequence[Callable[[Any], object]] = (),
    arguments: Sequence[object] = (),
) -> bool:
    """Send a packet without waiting. Returns False if the socket's buffer is full.

    Args:
        sock: the socket.
        packet: its bytes.
        descriptors: go along.
        then: functions written in C, which note that it was sent. No signal handler comes in
            between, whose exception would have it sent twice, or forgotten.
        arguments: one for each.

    Raises:
        OSError: the peer is gone.
    """
    send: Callable[[Any], int] = sock.send
    what: Any = packet
    if descriptors:
        rights = (socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))
        send, what = partial(sock.sendmsg, [packet]), [rights]
    try:
        # One call of C functions, as deferred() takes too long for each frame.
        list(map(call, (send, *then), (what, *arguments)))
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno not in _NO_ROOM:
            raise
        return False
    return True


# Of the system's memory, or of descriptors that nobody has received yet: unix(7), ETOOMANYREFS.
_NO_ROOM = (errno.ENOBUFS, errno.ENOMEM, errno.ETOOMANYREFS)


def user_of(sock: socket.socket) -> int:
    """The user whose process made the other end."""
    size = _CREDENTIALS.size
    return int(_CREDENTIALS.unpack(sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size))[1])


def check_writer(sock: socket.socket, address: Address) -> None:
    """Refuse a writer of another user: any may take an abstract name that nobody has.

    Root reads the rings of all users.

    Raises:
        RingRefusedError: another user has.
    """
    user, own = user_of(sock), os.getuid()
    if own != 0 and user not in (own, 0):
        sock.close()
        raise RingRefusedError(
            f"a process of user {user} writes to the ring {address}: frames are taken from "
            f"processes of user {own} and of root alone"
        )


def pidfd_of(process: int) -> Fd | None:
    """Return a pidfd, which becomes readable when the process ends; None if there can be none."""
    if process <= 0 or process == os.getpid():
        return None
    try:
        return Fd.returned_by(os.pidfd_open, process)
    except (OSError, AttributeError):
        return None


def has_ended(pidfd: Fd | None) -> bool:
    """True if the process of a pidfd has ended."""
    if pidfd is None:
        return False
    waiting = select.poll()
    waiting.register(pidfd.fileno(), select.POLLIN)
    return bool(waiting.poll(0))


def _new() -> socket.socket:
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    sock.setblocking(False)
    return sock


def _is_answered(name: str) -> bool:
    """True if a process listens at the socket of that name; an error if it is another file."""
    try:
        if not stat.S_ISSOCK(Path(name).stat().st_mode):
            raise FileExistsError(f"{name} is there, and is not a socket")
        with _new() as sock:
            sock.connect(name)
    except (ConnectionRefusedError, FileNotFoundError):
        return False
    except BlockingIOError:
        return True
    return True
