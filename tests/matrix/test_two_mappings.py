# SPDX-License-Identifier: Apache-2.0
"""Two mappings of one source close in any order, also where a driver mapped it once for both."""

from __future__ import annotations

import pytest

from samebytes import Access
from samebytes.errors import SamebytesError

from .sources import IMAGES, SOURCES, TARGETS, TENSORS, Item

pytestmark = pytest.mark.usefixtures("devices")

_LAYOUTS = TENSORS | IMAGES
_PAIRS: tuple[tuple[Access, Access], ...] = (("rw", "r"), ("r", "r"), ("r", "rw"))


def mapped(item: Item, target: str, access: Access) -> Item | None:
    """A mapping, or None where there is none without a copy."""
    try:
        made: Item = item.map(target, access)
    except SamebytesError:
        return None
    return made


@pytest.mark.parametrize("name", SOURCES)
def test_each_closes_while_the_other_lives(name: str) -> None:
    source = SOURCES[name]
    for target in TARGETS:
        for accesses in _PAIRS:
            for first_one in (True, False):
                item = source.make(_LAYOUTS[source.layouts[0]])
                one, other = mapped(item, target, accesses[0]), mapped(item, "cpu", accesses[1])
                if one is None or other is None:
                    continue
                kept, closing = (other, one) if first_one else (one, other)
                closing.close()
                assert closing.closed, (target, accesses)
                kept.flush()
                assert kept.native is not None
                kept.close()
                item.close()
                assert item.closed, (target, accesses)
