# SPDX-License-Identifier: Apache-2.0
"""Pages that people write, with blocks that a program makes: the text between two marks.

A block is `<!-- begin: NAME -->`, the text, and `<!-- end -->`; the name says what writes it.
"""

import re
from collections.abc import Mapping

__all__ = ["filled"]

_BLOCK = re.compile(r"(<!-- begin: (?P<name>[^>]+) -->\n).*?(<!-- end -->)", re.DOTALL)


def filled(page: str, blocks: Mapping[str, str]) -> str:
    """The page with these blocks in place of what it had.

    Raises:
        LookupError: one of its blocks is not given, or one that is given is not there.
    """
    there = {match["name"] for match in _BLOCK.finditer(page)}
    if there != blocks.keys():
        raise LookupError(f"the page has blocks for {sorted(there)}, given were {sorted(blocks)}")
    return _BLOCK.sub(lambda match: f"{match[1]}{blocks[match['name']]}\n{match[3]}", page)
