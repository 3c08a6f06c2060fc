# SPDX-License-Identifier: Apache-2.0
"""`samebytes check-plugin` finds what is wrong in a context and the memory that it allocates."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from sdk.tests.authors.conftest import Generated

pytestmark = pytest.mark.together

Generate = Callable[[str], "Generated"]

CLOSE = "close() returns True exactly when the memory that was made is gone"
STAYS = "memory that was closed or dropped leaves nothing behind"
CLOSES = "a context closes, and its memory lives on"

HEAD = "from __future__ import annotations\n"
CRASH = "__import__('os').kill(__import__('os').getpid(), 11)"
BLOCK = "        block = _block_in(storage, info)\n"
INFO = "        info = TensorInfo(dtype, shape)\n"
# An array over the address alone, which holds nothing.
UNHELD = """\
        array = self.native.array
        bytes_ = (ctypes.c_char * array.nbytes).from_address(array.ctypes.data)
        return np.frombuffer(bytes_, array.dtype).reshape(array.shape)
"""
# Slots of a pool, the next of which each tensor gets, whoever still reads it.
POOL = """\
_slots = [mmap.mmap(-1, 1 << 20) for _ in range(8)]


def _pages(nbytes: int) -> Storage:
    _slots.append(_slots.pop(0))
    return Storage(lambda: None, address=ctypes.addressof(ctypes.c_char.from_buffer(_slots[0])),
                   nbytes=nbytes)


def _unused"""
IN_SLOT = "np.ndarray(info.shape, info.dtype.carrier, _slots[0])"
IN_STORAGE = "np.ndarray(info.shape, info.dtype.carrier, np.asarray(storage))"
# Natives that can be sliced, and a tensor that takes a slice for the whole.
SLICED = """\
    def __getitem__(self, rows):
        part = Block(self.array[rows])
        part.me = self.array[: len(part.array)]
        return part

    def as_readonly("""
WHOLE = "        return getattr(self.native, 'me', self.native.array)\n"
# What is changed in which module, the rule that is broken, and a part of what is seen.
FAULTS = {
    "a context for each call": (
        "_memory.py", "return ALPHA  #",
        "return cls(handles={'cl_context': __import__('time').monotonic_ns()})  #",
        "a node has one context for the same handles", "there are two of them",
    ),
    "another layout": (
        "_memory.py", INFO, "        info = TensorInfo('int8', shape)\n",
        "allocated memory has the requested layout", "int8",
    ),
    "strides of another layout": (
        "_memory.py", "storage, info=info)",
        "storage, info=TensorInfo(info.dtype, shape, (info.strides or ())[::-1]))",
        "allocated memory has the requested layout", "its array has (64, 1)",
    ),
    "an allocation that crashes": (
        "_memory.py", INFO, f"        {CRASH}\n{INFO}", "allocated memory has the requested layout",
        "SIGSEGV",
    ),
    "nonsense taken": (
        "_memory.py", "TensorInfo(dtype, shape)", "TensorInfo(dtype, [abs(n) for n in shape])",
        "nonsense is refused by name", "allocate((-1, 4)) made",
    ),
    "memory that close() forgets": (
        "_memory.py", ".owned(block, self, storage,", ".borrowed(block, self, keep=storage,",
        CLOSE, "made no storage",
    ),
    "storages that something holds": (
        "_memory.py", BLOCK, f"        _kept.append(storage)\n{BLOCK}", CLOSE,
        "something still holds the storage",
    ),
    "arrays that hold nothing": (
        "_memory.py", "        return self.native.array\n", UNHELD,
        "an array keeps the memory that it lies in", "",
    ),
    "pages that stay": (
        "_memory.py", "return Storage(pages.close,",
        "_kept.append(pages)\n    return Storage(lambda: None,", STAYS, "bytes more of addresses",
    ),
    "storages that stay": (
        "_memory.py", BLOCK, f"        _kept.append(Storage())\n{BLOCK}", STAYS, "storages",
    ),
    "a cycle": (
        "blocks.py", "        self.array = array\n",
        "        self.array = array\n        self.me = self\n", STAYS, "a reference cycle",
    ),
}  # fmt: skip


def test_slots_of_a_pool(generate: Generate) -> None:
    generated = generate("alpha")
    generated.change("_memory.py", "def _pages", POOL)
    generated.change("_memory.py", IN_STORAGE, IN_SLOT)
    expected = generated.faults("context", "alpha")["an array keeps the memory that it lies in"]
    assert "given back while an array over it was alive" in expected


def test_a_slot_that_is_given_back_at_once(generate: Generate) -> None:
    """It is the last of a queue: the next allocations get others."""
    generated = generate("alpha")
    generated.change("_memory.py", "def _pages", POOL.replace("range(8)", "range(128)"))
    faults = generated.faults("context", "alpha")
    assert "was written to another" in faults["allocated memory has no other user while it lives"]


@pytest.mark.parametrize(
    ("host_array", "expected"),
    [("        return self.native.array\n", None), (WHOLE, "rows 1 to 63 read as other rows")],
)
def test_regions(generate: Generate, host_array: str, expected: str | None) -> None:
    generated = generate("alpha")
    generated.change("blocks.py", '"__weakref__", "array"', '"__weakref__", "array", "me"')
    generated.change("blocks.py", "    def as_readonly(", SLICED)
    generated.change("_memory.py", "        return self.native.array\n", host_array)
    faults = generated.faults("context", "alpha")
    assert faults.get("a region of a native object is that region, or refused by name") == expected


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault(name: str, generate: Generate) -> None:
    file, old, new, rule, reported = FAULTS[name]
    generated = generate("alpha")
    # Some faults need a place to keep what should go, or natives that can hold anything.
    generated.change("_memory.py", HEAD, f"{HEAD}\n_kept: list[object] = []\n")
    generated.change("blocks.py", '"__weakref__", "array"', '"__weakref__", "array", "me"')
    generated.change(file, old, new)
    assert reported in generated.faults("context", "alpha")[rule]


@pytest.fixture
def device(generate: Generate) -> Generated:
    """The generated backend with a context that is not a singleton, as those of devices are."""
    generated = generate("alpha")
    generated.change("_memory.py", "class AlphaContext(HostContext[", "class AlphaContext(Context[")
    generated.change("_memory.py", "import Storage,", "import Context, Storage,")
    generated.change("_memory.py", "return ALPHA  #", "return cls()  #")
    return generated


def test_a_context_of_a_device(device: Generated) -> None:
    assert device.faults("context", "alpha") == {}


def test_a_context_whose_memory_ends_with_it(device: Generated) -> None:
    device.change("_memory.py", HEAD, f"{HEAD}\n_kept: list[mmap.mmap] = []\n")
    device.change("_memory.py", "    address =", "    _kept.append(pages)\n    address =")
    device.change(
        "_memory.py", "    def readonly_native",
        "    def _on_close(self):\n        [pages.close() for pages in _kept]\n\n"
        "    def readonly_native",
    )  # fmt: skip
    assert CLOSES in device.faults("context", "alpha")


def test_a_context_that_comes_back_closed(device: Generated) -> None:
    device.change("_memory.py", "return cls()  #", "return ALPHA  #")
    assert "the closed one comes back" in device.faults("context", "alpha")[CLOSES]
