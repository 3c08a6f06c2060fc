# SPDX-License-Identifier: Apache-2.0
"""`samebytes check-plugin` finds edges that do not do what they declare, or let go of nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from sdk.tests.authors.conftest import Generated

Generate = Callable[[str], "Generated"]

FROM_CPU, TO_CPU = "0", "1"
TAKES = "an edge takes something"
SAME = "both sides have the same bytes"
MAPPING_STAYS = "nothing stays of a mapping"

HEAD = "from __future__ import annotations\n"
CRASH = "__import__('os').kill(__import__('os').getpid(), 11)"
TAKEN = "        return Block(_for(array, access)), item.given_info, None\n"
GIVEN = "        return _for(item.native.array, access), item.given_info, None\n"
ARRAY = "        array = item.native\n"
COPIED = f"{ARRAY[:-1]}.copy()\n"
# An array over the address alone, which holds nothing.
UNHELD = """\
        array = item.native
        bytes_ = (__import__("ctypes").c_char * array.nbytes).from_address(array.ctypes.data)
        array = np.frombuffer(bytes_, array.dtype).reshape(array.shape)
"""
# The edge, what is changed in its module, the rule that is broken, and a part of what is seen.
FAULTS = {
    "a silent copy": (FROM_CPU, ARRAY, COPIED, SAME, "it declares ALIAS, and the first element of"),
    "other bytes": (TO_CPU, GIVEN, GIVEN.replace("array,", "array[::-1],"), SAME, ""),
    "read-only memory made writable": (
        TO_CPU, 'access == "r"', "False", "read-only memory stays read-only",
        "its native array can be written",
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


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault(name: str, generate: Generate) -> None:
    edge, old, new, rule, told = FAULTS[name]
    generated = generate("alpha")
    generated.change("_mappers.py", HEAD, f"{HEAD}\n_kept: list[object] = []\n")
    generated.change("_mappers.py", old, new)
    assert told in generated.faults("edge", edge)[rule]


@pytest.mark.parametrize(
    ("transfer", "told"),
    [
        ("IMPORT", "what is written to the source later is not seen"),
        ("MAP", "what is written to the mapping is not in the source"),
    ],
)
def test_a_silent_copy_under_another_name(generate: Generate, transfer: str, told: str) -> None:
    generated = generate("alpha")
    generated.change("_plugin.py", "Transfer.ALIAS", f"Transfer.{transfer}")
    generated.change("_mappers.py", ARRAY, COPIED)
    assert told in generated.faults("edge", FROM_CPU)[SAME]


@pytest.mark.parametrize("edge", [FROM_CPU, TO_CPU])
def test_a_copy_that_is_none(generate: Generate, edge: str) -> None:
    generated = generate("alpha")
    generated.change("_plugin.py", "Transfer.ALIAS", "Transfer.COPY")
    told = generated.faults("edge", edge)["a copy is a copy, and counted"]
    assert "shows in what should be a copy" in told


def test_a_copy(generate: Generate) -> None:
    generated = generate("alpha")
    generated.change("_plugin.py", "Transfer.ALIAS", "Transfer.COPY")
    generated.change("_mappers.py", ARRAY, COPIED)
    assert generated.faults("edge", FROM_CPU) == {}
