# SPDX-License-Identifier: Apache-2.0
"""`samebytes check-plugin` finds edges that do not do what they declare, or release nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from sdk.tests.authors.conftest import Generated

pytestmark = pytest.mark.together

Generate = Callable[[str], "Generated"]

FROM_CPU, TO_CPU = "0", "1"
TAKES = "an edge takes some object"
SAME = "both sides have the same bytes"
SOURCE_SHOWS = "what is written to the source shows in the mapping"
MAPPING_SHOWS = "what is written to the mapping is in the source"
MAPPING_STAYS = "a mapping leaves nothing behind"

HEAD = "from __future__ import annotations\n"
CRASH = "__import__('os').kill(__import__('os').getpid(), 11)"
TAKEN = "        return Block(_for(array, access)), item.known_info, None\n"
GIVEN = "        return _for(item.native.array, access), item.known_info, None\n"
ARRAY = "        array = item.native\n"
COPIED = f"{ARRAY[:-1]}.copy()\n"
# An array over the address alone, which holds nothing.
UNHELD = """\
        array = item.native
        bytes_ = (__import__("ctypes").c_char * array.nbytes).from_address(array.ctypes.data)
        array = np.frombuffer(bytes_, array.dtype).reshape(array.shape)
"""
DTYPE = "an element type is kept, or refused by name"
# An edge for frames, whose planes a driver would map into memory of their own.
FRAMES = "0"
FRAMES_SPEC = """\
    return [
        MapperSpec(
            source="cpu", target="alpha", mapper="samebytes_alpha._mappers:Apart",
            transfer=Transfer.MAP, summary="each plane in memory of its own", level="frame",
        ),
        MapperSpec("""
FRAMES_MAPPER = """\
class Apart(MemoryMapper):
    __slots__ = ()

    def connect(self, item: Any, access: Access) -> Any:
        import ctypes
        import mmap
        from samebytes.plugins import joint_owner

        owners, natives = [], []
        for plane in item.planes:
            array = plane.host_array()
            pages = mmap.mmap(-1, array.nbytes)

            def back(array: Array = array, pages: Any = pages) -> None:
                if access != "r":
                    array[...] = np.frombuffer(pages, array.dtype).reshape(array.shape)

            def end(back: Any = back) -> None:
                back()

            address = ctypes.addressof(ctypes.c_char.from_buffer(pages))
            owners.append(Storage(end, flush=back, address=address, nbytes=array.nbytes))
            whole = np.asarray(owners[-1])
            copy = np.ndarray(array.shape, array.dtype, whole)
            copy[...] = array
            natives.append(Block(_for(copy, access)))
        return tuple(natives), None, joint_owner(owners)


"""
# The edge, what is changed in its module, the rule that is broken, and a part of what is seen.
FAULTS = {
    "a silent copy": (FROM_CPU, ARRAY, COPIED, SAME, "it declares ALIAS, and the first element of"),
    "other bytes": (TO_CPU, GIVEN, GIVEN.replace("array,", "array[::-1],"), SAME, ""),
    "read-only memory made writable": (
        TO_CPU, 'access == "r"', "False", "read-only memory stays read-only",
        "its native array can be written",
    ),
    "uint8 for bool": (
        FROM_CPU, ARRAY, f"{ARRAY}        array = array.view('uint8')\n", DTYPE,
        "bool: it became uint8",
    ),
    "the bits of bfloat16 alone": (
        TO_CPU, "item.known_info", "None", DTYPE, "bfloat16: it became uint16",
    ),
    "a source that stays in use": (
        FROM_CPU, TAKEN, f"        _kept[:] = [array]\n{TAKEN}",
        "the source closes when nothing maps it any more", "still holds the source",
    ),
    "memory that is not kept": (
        FROM_CPU, ARRAY, UNHELD, "what a mapping made outlives the source", "",
    ),
    "mappings that stay": (
        FROM_CPU, TAKEN, f"        _kept.append(Storage())\n{TAKEN}", MAPPING_STAYS, "storages",
    ),
    "descriptors that stay": (
        FROM_CPU, TAKEN, f"        __import__('os').open('/', 0)\n{TAKEN}", MAPPING_STAYS,
        "descriptors",
    ),
    "a mapping that raises": (
        FROM_CPU, ARRAY, "        array = item.nativ\n", TAKES, "AttributeError",
    ),
    "a mapping that crashes": (FROM_CPU, TAKEN, f"        {CRASH}\n{TAKEN}", TAKES, "SIGSEGV"),
    "a crash at exit": (
        FROM_CPU, TAKEN, f"        __import__('atexit').register(lambda: {CRASH})\n{TAKEN}",
        "the interpreter ends well with living mappings", "SIGSEGV",
    ),
}  # fmt: skip


def test_frames(generate: Generate) -> None:
    assert frames(generate("alpha")).faults("edge", FRAMES) == {}


def test_an_edge_is_tried_with_the_formats_that_it_declares(generate: Generate) -> None:
    """Its connect() fails for every other format."""
    generated = frames(generate("alpha"))
    generated.change("_plugin.py", 'level="frame"', 'level="frame", formats=("NV12",)')
    generated.change(
        "_mappers.py", "        owners, natives = [], []",
        '        assert item.format.name == "NV12"\n        owners, natives = [], []',
    )  # fmt: skip
    assert generated.faults("edge", FRAMES) == {}


@pytest.mark.parametrize(
    ("old", "new", "rule", "expected"),
    [
        (
            "flush=back,", "flush=None if owners else back,",
            "flush() and wait() of a plane reach that plane",
            "plane 1 was flushed, and the source has old values",
        ),
        (
            "np.asarray(owners[-1])", "np.asarray(owners[0]) if not natives else pages",
            "a plane keeps its own memory", "plane 1 was given back while a view of it was alive",
        ),
    ],
)  # fmt: skip
def test_a_fault_of_second_planes(
    generate: Generate, old: str, new: str, rule: str, expected: str
) -> None:
    generated = frames(generate("alpha"))
    generated.change("_mappers.py", old, new)
    assert expected in generated.faults("edge", FRAMES)[rule]


def frames(generated: Generated) -> Generated:
    """The package with an edge more: frames whose planes are mapped apart."""
    generated.change("_plugin.py", "    return [\n        MapperSpec(", FRAMES_SPEC)
    generated.change("_mappers.py", "class ToCpu", f"{FRAMES_MAPPER}class ToCpu")
    return generated


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault(name: str, generate: Generate) -> None:
    edge, old, new, rule, expected = FAULTS[name]
    generated = generate("alpha")
    generated.change("_mappers.py", HEAD, f"{HEAD}\n_kept: list[object] = []\n")
    generated.change("_mappers.py", old, new)
    assert expected in generated.faults("edge", edge)[rule]


@pytest.mark.parametrize(
    ("transfer", "rule", "expected"),
    [
        ("IMPORT", SOURCE_SHOWS, "what is written to the source later is not seen"),
        ("MAP", MAPPING_SHOWS, "what is written to the mapping is not in the source"),
    ],
)
def test_a_silent_copy_under_another_name(
    generate: Generate, transfer: str, rule: str, expected: str
) -> None:
    generated = generate("alpha")
    generated.change("_plugin.py", "Transfer.ALIAS", f"Transfer.{transfer}")
    generated.change("_mappers.py", ARRAY, COPIED)
    assert expected in generated.faults("edge", FROM_CPU)[rule]


@pytest.mark.parametrize("edge", [FROM_CPU, TO_CPU])
def test_a_copy_that_is_none(generate: Generate, edge: str) -> None:
    generated = generate("alpha")
    generated.change("_plugin.py", "Transfer.ALIAS", "Transfer.COPY")
    expected = generated.faults("edge", edge)["a copy is a copy, and counted"]
    assert "shows in what should be a copy" in expected


def test_a_copy(generate: Generate) -> None:
    generated = generate("alpha")
    generated.change("_plugin.py", "Transfer.ALIAS", "Transfer.COPY")
    generated.change(
        "_plugin.py", "transfer=Transfer.COPY", 'transfer=Transfer.COPY, access=("r",)'
    )
    generated.change("_mappers.py", ARRAY, COPIED)
    assert generated.faults("edge", FROM_CPU) == {}


def test_a_copy_that_is_written_and_lost(generate: Generate) -> None:
    """Of three access modes, which is the default."""
    generated = generate("alpha")
    generated.change("_plugin.py", "Transfer.ALIAS", "Transfer.COPY")
    generated.change("_mappers.py", ARRAY, COPIED)
    faults = generated.faults("edge", FROM_CPU)
    assert [*faults] == [MAPPING_SHOWS]
    assert "written to the copy cpu -> alpha is not in the source" in faults[MAPPING_SHOWS]
