# SPDX-License-Identifier: Apache-2.0
"""The phrases that are not plain English."""

import pytest

from devtools.wording import check_words


@pytest.mark.parametrize(
    "line",
    [
        'raise LayoutError(f"{x!r} is no dtype")',
        "# shapes that are no sequences",
        "3 descriptors came along",
        "the route is made anew",
        "it would wait for ever",
        "the decoder lets go of the frame",
        "the array is let go",
        "a bug is mended",
        "what the driver tells",
        "it was told two sizes",
        "a context that is no more",
        "def test_a_name_that_is_no_kernel() -> None:",
        "def test_too_late_is_told() -> None:",
        "a stranger may have sent it",
    ],
)
def test_a_phrase_is_found(line: str) -> None:
    assert len(list(check_words(f"\n{line}\n"))) == 1
    assert next(check_words(f"\n{line}\n")).startswith("2: ")


@pytest.mark.parametrize(
    "line",
    [
        "there is no device, and it is no longer used",
        "there are no more than 8",
        "it has no more room",
        "the two cannot be told apart",
        "OpenVINO tells them apart",
        "anewfangled, recommended, amendment",
        "let the user go on",
    ],
)
def test_plain_english_is_fine(line: str) -> None:
    assert list(check_words(line)) == []
