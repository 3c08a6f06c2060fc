# SPDX-License-Identifier: Apache-2.0
"""Messages for errors of the machine: no memory, no disk space.

Each framework has its own exception for them, and some have none but RuntimeError with a text.
"""

from __future__ import annotations

import errno
from pathlib import Path

from samebytes.errors import SamebytesError

from ._errors import DemoError

try:
    # Imported now: without memory, nothing more can be loaded later.
    import resource
except ImportError:  # on Windows, whose limits are not known
    resource = None  # type: ignore[assignment]

__all__ = ["check_memory", "explain"]

_NO_MEMORY = (
    "std::bad_alloc",
    "bad allocation",
    "can't alloc",  # OpenVINO
    "insufficient memory",  # OpenCV
    "cannot allocate memory",  # the C library, also when it loads a library
    "failed to map segment",
    "can't start new thread",  # Python: a thread's stack is memory too
    "out of memory",
)

_LEAST = 1 << 30
"""The bytes of address space without which frameworks end the process while they load."""
_NEAR = 0.8
"""The share of the memory limit above which the limit is a likely cause of an error."""


def check_memory() -> None:
    """Ask for the memory before libraries are loaded that would crash without it.

    Raises:
        DemoError: the process is limited to less.
    """
    most = _limit()
    if most is not None and most < _LEAST:
        raise DemoError(
            f"not enough memory: the process may have {most >> 20} MiB of address space "
            f"(RLIMIT_AS), and the demo needs more than {_LEAST >> 20}: raise the limit (ulimit -v)"
        )


def explain(error: BaseException) -> str | None:
    """The message for the user; None for an error that only a developer understands."""
    if isinstance(error, BrokenPipeError):
        return None
    limit = _limit_reached()
    if _lacks_memory(error):
        return f"not enough memory{limit and f' ({limit})'}"
    if isinstance(error, DemoError | SamebytesError):
        # Decoders and encoders report it as damaged data or an error in a library.
        return f"{error}{limit and f' ({limit}, which may be the cause)'}"
    if isinstance(error, OSError) and error.errno is not None:
        return f"{error.filename}: {error.strerror}" if error.filename else str(error)
    if limit and isinstance(error, Exception):
        lines = [line for line in str(error).splitlines() if line.strip()] or [repr(error)]
        return f"{lines[-1].strip()} ({limit}, which may be the cause)"
    return None


def _lacks_memory(error: BaseException) -> bool:
    """True if this error, or one that led to it, reports a lack of memory."""
    seen: set[int] = set()
    here: BaseException | None = error
    while here is not None and id(here) not in seen:
        seen.add(id(here))
        if isinstance(here, MemoryError):
            return True
        if isinstance(here, OSError) and here.errno == errno.ENOMEM:
            return True
        if any(text in str(here).lower() for text in _NO_MEMORY):
            return True
        here = here.__cause__ or here.__context__
    return False


def _limit_reached() -> str:
    """A note on the process's memory limit if it is nearly used up; else an empty string."""
    most, status = _limit(), Path("/proc/self/status")
    if most is None or not status.exists():
        return ""
    fields = dict(line.split(":", 1) for line in status.read_text().splitlines())
    used = int(fields["VmPeak"].split()[0]) * 1024  # proc_pid_status(5): in KiB
    if used < _NEAR * most:
        return ""
    return f"the process has used {used >> 20} of the {most >> 20} MiB that it may have"


def _limit() -> int | None:
    """The bytes of address space that the process may have; None if it has no limit."""
    if resource is None:
        return None
    most, _ = resource.getrlimit(resource.RLIMIT_AS)
    return None if most == resource.RLIM_INFINITY else most
