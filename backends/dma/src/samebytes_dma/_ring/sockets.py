# SPDX-License-Identifier: Apache-2.0
"""Unix sockets of packets, and whether the process at the other end lives.

A path is a socket in the file system, which its owner alone may connect to. A name that begins
with "@" is abstract: it has no file, so the user of the peer is asked for.
"""

from __future__ import annotations

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
from pathlib import Path

from samebytes.errors import UnsupportedObjectError
from samebytes.plugins import Fd

from .._passing.transport import SCM_CREDENTIALS
from .errors import RingRefusedError

__all__ = [
    "Address",
    "connected",
    "greet",
    "has_ended",
    "listening",
    "pidfd_of",
    "send_packet",
    "unlink",
    "user_of",
]

Address = str | os.PathLike[str]

_CREDENTIALS = struct.Struct("iII")
_NAP = 0.02


def listening(address: Address) -> tuple[socket.socket, os.stat_result | None]:
    """A socket that listens there, and what its file is, by which it is known later.

    A file that a writer left which is gone is replaced.

    Raises:
        RingRefusedError: another process listens there.
        OSError: the system's: no such folder, no permission, too long a path.
    """
    name = _name(address)
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
    name = _name(address)
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
    if sock.family != socket.AF_UNIX or sock.type != socket.SOCK_SEQPACKET:
        raise UnsupportedObjectError(
            "a ring needs a Unix socket that keeps packets apart, as by socket.socketpair("
            f"socket.AF_UNIX, socket.SOCK_SEQPACKET), not {sock.family.name} {sock.type.name}"
        )
    sock.setblocking(False)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)


def greet(sock: socket.socket, packet: bytes) -> None:
    """Send the first packet, with the number of this process, which the kernel confirms."""
    own = _CREDENTIALS.pack(os.getpid(), os.getuid(), os.getgid())
    sock.sendmsg([packet], [(socket.SOL_SOCKET, SCM_CREDENTIALS, own)])


def send_packet(sock: socket.socket, packet: bytes, descriptors: Sequence[int] = ()) -> bool:
    """Send a packet without waiting. Returns False if the socket's buffer is full.

    Raises:
        OSError: the peer is gone.
    """
    try:
        if descriptors:
            socket.send_fds(sock, [packet], list(descriptors))
        else:
            sock.send(packet)
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


def pidfd_of(process: int) -> Fd | None:
    """What becomes readable when a process ends; None where that cannot be known."""
    if process <= 0 or process == os.getpid():
        return None
    try:
        return Fd.returned_by(os.pidfd_open, process)
    except (OSError, AttributeError):
        return None


def has_ended(pidfd: Fd | None) -> bool:
    """Whether the process of a pidfd has ended."""
    if pidfd is None:
        return False
    waiting = select.poll()
    waiting.register(pidfd.fileno(), select.POLLIN)
    return bool(waiting.poll(0))


def _new() -> socket.socket:
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    sock.setblocking(False)
    return sock


def _name(address: Address) -> str:
    name = os.fspath(address)
    return "\0" + name[1:] if name.startswith("@") else name


def _is_answered(name: str) -> bool:
    """Whether somebody listens at a socket that is there; an error if it is another file."""
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
