# SPDX-License-Identifier: Apache-2.0
"""Storage: the one owner of bytes, or of a native handle, that must be given back."""

from __future__ import annotations

import atexit
import threading
import weakref
from collections.abc import Callable, Hashable, Iterable, Sequence
from sys import getrefcount
from typing import Any, ClassVar, NoReturn, SupportsIndex, TypeAlias

from ..._raising import throw
from .locks import in_forked_child

__all__ = [
    "Imports",
    "JointStorage",
    "LeasedStorage",
    "NativeStorage",
    "Storage",
    "Uncopyable",
    "joint_owner",
    "owners_of_planes",
    "parts_of",
    "publish",
    "releasing",
    "storage_chain",
    "wait_all",
    "write_nothing_back",
]


class Uncopyable:
    """A base of owners that refuse copy and pickle: a copy would free what is owned a second time.

    Subclasses have in `_instead` what to do. Plugins derive theirs from it as Storage.Uncopied.
    """

    __slots__ = ()

    _instead: ClassVar[str] = ""

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        raise TypeError(f"a {type(self).__name__} cannot be copied or pickled: {self._instead}")


class Imports(dict[Hashable, Any]):
    """Imports of the memory of one storage, which an ImportCache remembers by their keys."""

    __slots__ = ("__weakref__",)


# Newest last. Only storages that ask for it: see Storage(at_exit=True).
_released_at_exit: dict[int, weakref.ref[Storage]] = {}


class Storage(Uncopyable):
    """Owns memory or a handle, and gives it back once, when its last holder is gone.

    Every tensor, array, capsule and native object over the memory holds the storage, so no order of
    drops can leave one of them dangling. numpy arrays hold it as their base:
    `numpy.asarray(storage)` gives the bytes as a 1-D uint8 array.

    Args:
        release: called once, without arguments, by the thread that drops the last holder. It
            empties what it gives back before C takes over: if it is interrupted there, it leaks,
            and never frees twice. close() raises its errors; elsewhere Python reports them, as
            errors of finalizers. None for memory that belongs to somebody else.
        address: of the first byte, if the CPU can use it; 0 otherwise.
        nbytes: size in bytes.
        keep: what the memory lies in: another storage, the user's own object, or a tuple of them.
            flush(), wait() and close() reach the storages in it.
        holds: anything else that must live as long: an import that several mappings share, or the
            native object whose end frees the memory. flush(), wait() and close() do not reach it.
            In a reference cycle it may be finalized before the release is called: see `untrack`.
        readonly: arrays made from it cannot be made writable.
        flush: publishes writes without ending the mapping; None if nothing needs to be done.
        wait: returns when what was enqueued on this memory is done; None if nothing ever is.
        at_exit: release at interpreter exit if still alive, newest first, and never in a forked
            child, where what the release holds ends with the storage all the same. For memory
            whose release runs code of a library that would crash later in the shutdown, and whose
            handles are the parent's; it must not be read afterwards.
    """

    _instead = "hold the same one, or copy the array that lies in it"
    Uncopied: TypeAlias = Uncopyable

    __slots__ = ("__array_interface__", "__weakref__", "_imports", "address", "flush", "holds",
                 "keep", "nbytes", "readonly", "release", "wait")  # fmt: skip

    _imports: tuple[weakref.ref[Imports], ...]  # emptied before the release: see ImportCache

    def __init__(
        self,
        release: Callable[[], object] | None = None,
        *,
        address: int = 0,
        nbytes: int = 0,
        keep: object = None,
        holds: object = None,
        readonly: bool = False,
        flush: Callable[[], object] | None = None,
        wait: Callable[[], object] | None = None,
        at_exit: bool = False,
    ) -> None:
        self._imports = ()
        self.release = release
        self.address = address
        self.nbytes = nbytes
        self.keep = keep
        self.holds = holds
        self.readonly = readonly
        self.flush = flush
        self.wait = wait
        if address:
            self.expose(address, nbytes)
        if at_exit:
            _released_at_exit[id(self)] = weakref.ref(self)

    def expose(self, address: int, nbytes: int) -> None:
        """Set where the memory is, for a backend that makes the owner before the memory.

        Args:
            address: where the CPU reads it.
            nbytes: its size in bytes.
        """
        self.address = address
        self.nbytes = nbytes
        self.__array_interface__ = {
            "shape": (nbytes,),
            "typestr": "|u1",
            "data": (address, self.readonly),
            "version": 3,
        }

    def __del__(self) -> None:
        # An exception of a signal handler in here may leak the memory; it is released once at most.
        release = getattr(self, "release", None)  # no attribute: the constructor was interrupted
        if release is None:
            return
        # First of all: whoever finds it by a weak reference from now on sees that it is ending.
        self.release = _begun
        if type(self) is not _Later and getrefcount(self) > _ALONE:
            self.release = release
            _release_later(self)
            return
        number = self.stands_for if type(self) is _Later else id(self)
        _released_at_exit.pop(id(self), None)
        imports = self._imports
        del self  # the traceback of an error would hold it, and so what it lies in
        try:
            for ref in imports:
                if (known := ref()) is not None:
                    known.clear()
            release()
        except BaseException as error:
            for storages, errors in reversed(_this_thread.expected):
                if number in storages:
                    errors.append(error)
                    return
            raise

    @property
    def ending(self) -> bool:
        """True if the release of this storage has begun.

        Python clears weak references to an object after its finalizer. So a storage that was found
        by one may be giving its memory back in another thread: then another must be made.
        """
        return self.release is _begun

    def __repr__(self) -> str:
        kind = "borrowed" if self.release is None and self.holds is None else "owned"
        where = f" at {self.address:#x}" if self.address else ""
        return f"<Storage {self.nbytes} bytes{where}, {kind}>"


def _begun() -> None:
    """The release of a storage whose release has begun."""


class _Later(Storage):
    """A storage that runs the release of one that the garbage collector finalized too early."""

    __slots__ = ("stands_for",)

    stands_for: int  # the id of that one


def _release_later(storage: Storage) -> None:
    """Postpone the release of a storage that something still holds until its last reference ends.

    The collector finalizes the objects of a reference cycle in any order, so a mapping that lies in
    this storage may still have to be released. The object made here did not exist when the
    collector looked: it, and whatever it holds, lives until the last reference is gone. A call by
    the collector shows in the count of references, which is 1 in every other case. Making such an
    object for every storage would nearly double the time that a storage takes.

    It is given the release last, when the storage holds it. An exception of a signal handler then
    leaks; if one dropped the object together with the release, that would come too early.
    """
    later = _Later(keep=storage.keep)
    later.stands_for, later._imports = id(storage), storage._imports
    if _released_at_exit.pop(id(storage), None) is not None:
        _released_at_exit[id(later)] = weakref.ref(later)
    storage.keep = later
    later.release, storage.release = storage.release, None


def _alone() -> int:
    """The number of references that `__del__` sees to an object that nothing else holds."""

    class Counted:
        def __del__(self) -> None:
            seen.append(getrefcount(self))

    seen: list[int] = []
    Counted()
    return seen[0]


_ALONE = _alone()


class NativeStorage(Storage):
    """Memory that ends with its native object, or a tuple of them, which is in `keep`.

    For frameworks that offer no other way to release it, and whose natives cannot hold a storage:
    close() looks for the natives by weak references.
    """

    __slots__ = ()


class LeasedStorage(Storage):
    """Memory of a pool for one use of it: `keep` is the pool's storage of the same bytes."""

    __slots__ = ()


class JointStorage(Storage):
    """Owns a frame whose planes lie in their own memory: `keep` has the owner of each plane.

    A mapping of the whole frame holds this one, and so all planes; a mapping of one plane holds
    that plane's owner alone.
    """

    __slots__ = ()

    keep: tuple[object, ...]

    def __repr__(self) -> str:
        return f"<JointStorage of {len(self.keep)} planes>"


def joint_owner(owners: Sequence[Any]) -> Any:
    """The owner of a frame whose planes have those owners: a JointStorage, unless all are the same.

    Args:
        owners: one for each plane.
    """
    first = owners[0] if owners else None
    for owner in owners:
        if owner is not first:
            return JointStorage(keep=tuple(owners))
    return first


def parts_of(storage: Storage) -> tuple[Storage, ...]:
    """The storages that `storage` joins, each once, or `storage` itself if it joins none."""
    if type(storage) is not JointStorage:
        return (storage,)
    return tuple({id(part): part for part in storage.keep if isinstance(part, Storage)}.values())


def owners_of_planes(owner: Any, planes: int) -> tuple[Any, ...]:
    """The owner of each plane of a frame that has that owner and so many planes."""
    if type(owner) is JointStorage and len(owner.keep) == planes:
        return owner.keep
    return (owner,) * planes


def write_nothing_back(storages: Iterable[Storage]) -> None:
    """Let refused mappings, to which nobody has written, end without writing anything back."""
    for storage in storages:
        if storage.release is storage.flush:
            storage.release = None


def publish(owners: Iterable[object]) -> None:
    """Call every flush from `owners` outwards: the last mapping first, then what it lies in."""
    for storage in storage_chain(owners):
        if storage.flush is not None:
            storage.flush()


def wait_all(owners: Iterable[object]) -> None:
    """Call every wait from `owners` outwards."""
    for storage in storage_chain(owners):
        if storage.wait is not None:
            storage.wait()


def storage_chain(owners: Iterable[object]) -> list[Storage]:
    """The storages among `owners` and what they lie in, each one before what it lies in."""
    found: list[Storage] = []
    if type(owners) is tuple and len(owners) == 1:
        # Mostly each lies in one other.
        inner = owners[0]
        while isinstance(inner, Storage):
            found.append(inner)
            inner = inner.keep
        if type(inner) is not tuple:
            return found
        found.clear()
    seen: set[int] = set()
    # Post-order from the inside out, and then reversed. A storage is visited twice: when it is
    # reached, and when all that it lies in was found.
    pending: list[tuple[object, bool]] = [(owner, False) for owner in owners]
    while pending:
        owner, is_whole = pending.pop()
        if is_whole:
            found.append(owner)  # type: ignore[arg-type]  # only storages are visited twice
        elif type(owner) is tuple:
            pending.extend((part, False) for part in owner)
        elif isinstance(owner, Storage) and id(owner) not in seen:
            seen.add(id(owner))
            pending.append((owner, True))
            pending.append((owner.keep, False))
    found.reverse()
    return found


class _ThisThread(threading.local):
    """The `releasing` calls of this thread, the innermost last, each with the errors to raise."""

    expected: tuple[tuple[frozenset[int], list[BaseException]], ...] = ()


_this_thread = _ThisThread()


def releasing(storages: frozenset[int], drop: Callable[..., object], *held: Any) -> None:
    """Call `drop`, and raise what the releases of some storages raise in it, in this thread.

    An exception in a finalizer is lost otherwise. The first one is raised when all have run; the
    others are in its notes. `drop` may call this again, as where a release closes a tensor.

    Args:
        storages: their id().
        drop: drops them.
        held: its arguments.
    """
    errors: list[BaseException] = []
    outer = _this_thread.expected
    try:
        _this_thread.expected = (*outer, (storages, errors))
        drop(*held)
    except BaseException as error:
        errors.insert(0, error)
    finally:
        _this_thread.expected = outer
    if errors:
        for other in errors[1:]:
            errors[0].add_note(f"a release raised {type(other).__name__}: {other}")
        throw(errors.pop(0))


@atexit.register
def _release_living() -> None:
    for ref in reversed(list(_released_at_exit.values())):
        storage = ref()
        if storage is not None and storage.release is not None:
            ended = Storage()
            ended._imports = storage._imports
            # One assignment, in which no signal handler runs: one of the two has the release.
            ended.release, storage.release = storage.release, None
            del ended  # an error is reported, and others follow


def _leave_to_the_parent() -> None:
    for ref in list(_released_at_exit.values()):
        storage = ref()
        if storage is not None and storage.release is not None:
            # Kept: when what it holds ends, it may unmap memory that the child still reads.
            storage.holds, storage.release = (storage.holds, storage.release), None
    _released_at_exit.clear()


in_forked_child(_leave_to_the_parent)
