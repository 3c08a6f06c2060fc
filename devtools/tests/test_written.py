# SPDX-License-Identifier: Apache-2.0
"""Blocks of pages that programs write."""

import pytest

from devtools.blocks import filled

PAGE = """\
# One

<!-- begin: a, b -->
old
lines
<!-- end -->

<!-- begin: c -->
<!-- end -->
"""


def test_blocks_are_replaced_and_the_rest_stays() -> None:
    page = filled(PAGE, {"a, b": "| \\1 |", "c": ""})
    assert page == PAGE.replace("old\nlines", "| \\1 |").replace("c -->\n", "c -->\n\n")


@pytest.mark.parametrize("blocks", [{"a, b": ""}, {"a, b": "", "c": "", "d": ""}, {}])
def test_a_page_without_a_place_for_a_block_is_an_error(blocks: dict[str, str]) -> None:
    with pytest.raises(LookupError, match="the page has blocks"):
        filled(PAGE, blocks)
