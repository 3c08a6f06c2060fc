# SPDX-License-Identifier: Apache-2.0
"""Unix sockets of packets: listen at an address, or connect to one.

A path is a socket in the file system, which its owner alone may connect to. A name that begins
with "@" is abstract: it has no file to guard it, so the user of the peer is checked.
"""

from __future__ import annotations

import errno
import fcntl
import os
import socket
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from samebytes import Fd
from samebytes.errors import LayoutError, UnsupportedObjectError

from .._errors import RingRefusedError
from .waiting import seconds_until

__all__ = ["Address", "connected", "listening", "name_of", "unlink"]

Address = str | os.PathLike[str]

_NAP = 0.02
_LOCK_SECONDS = 1.0
# sun_path (unix(7)) has 108 bytes, and a path ends with a NUL.
_MOST_BYTES = 107


def name_of(address: Any) -> str:
    """The name of a socket, as the kernel takes it.

    Raises:
        UnsupportedObjectError: neither a path nor a name.
        LayoutError: a path with a NUL in it, an empty one, or one that is too long.
    """
    name = os.fspath(address) if isinstance(address, str | os.PathLike) else None
    if not isinstance(name, str):
        raise UnsupportedObjectError(
            f'address={address!r}: give a path as str or pathlib.Path, "@name", or a socket'
        )
    if not 0 < len(os.fsencode(name)) <= _MOST_BYTES:
        raise LayoutError(f"address={address!r}: a socket's path has 1 to {_MOST_BYTES} bytes")
    if name.startswith("@"):
        return "\0" + name[1:]
    if "\0" in name:
        raise LayoutError(f"address={address!r}: no path has a NUL in it")
    return name


def listening(address: Address) -> tuple[socket.socket, os.stat_result | None]:
    """A socket that listens there, and the status of its file, by which `unlink` recognizes it.

    A file that was left by a writer which has ended is replaced.

    Raises:
        RingRefusedError: another process listens there.
        OSError: the system's: no such folder, no permission. It names the path.
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
            # The file that bind() makes gets this mode: unix(7), "Pathname socket ownership and
            # permissions".
            os.fchmod(sock.fileno(), 0o600)
            sock.bind(name)
            sock.listen(16)
        except OSError as error:
            sock.close()
            if error.errno != errno.EADDRINUSE:
                error.filename = os.fspath(address)
                raise
            if name.startswith("\0") or _is_answered(name):
                raise RingRefusedError(f"another process writes to the ring {address}") from error
            Path(name).unlink(missing_ok=True)
        else:
            return sock, None if name.startswith("\0") else Path(name).stat()


@contextmanager
def _one_at_a_time(folder: Path) -> Iterator[None]:
    """Let writers make their sockets in a folder one after another.

    Otherwise one could remove the file that another has just made: between bind() and listen() a
    socket refuses connections, just as one that was left by a writer which has ended. If the
    folder cannot be read, or another program has locked it, the writer goes on without the lock.
    """
    try:
        fd = Fd(os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC))
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
            # A child that was forked meanwhile has the descriptor too, and would keep the lock.
            with suppress(OSError):
                fcntl.flock(fd.fileno(), fcntl.LOCK_UN)


def unlink(address: Address, made: os.stat_result | None) -> None:
    """Remove the file of a socket, unless another file has taken its place."""
    if made is None:
        return
    path = Path(address)
    with suppress(OSError):
        if os.path.samestat(path.stat(), made):
            path.unlink()


def connected(
    address: Address, deadline: float | None, stopped: Callable[[], bool]
) -> socket.socket:
    """A socket that is connected to a writer; waits for one that is not there yet.

    Args:
        address: where it listens.
        deadline: as for `deadline_of`.
        stopped: asked after each attempt; True to give up.

    Raises:
        TimeoutError: none came in time.
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
        left = seconds_until(deadline)
        if left == 0:
            raise TimeoutError(f"nobody writes to the ring {address}")
        time.sleep(min(_NAP, left))


def _new() -> socket.socket:
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    sock.setblocking(False)
    return sock


def _is_answered(name: str) -> bool:
    """True if a process listens at the socket of that name.

    Raises:
        FileExistsError: the file of that name is not a socket.
    """
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
