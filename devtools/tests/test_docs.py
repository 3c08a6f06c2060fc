# SPDX-License-Identifier: Apache-2.0
"""The checks of Markdown files: their links."""

from pathlib import Path

import pytest

from devtools.docs import broken_links, docs


@pytest.fixture
def page(tmp_path: Path) -> Path:
    """A page that has a neighbour with two headings."""
    text = "# The `other` page\n\n```text\n# not a heading\n```\n## Two\n"
    (tmp_path / "other.md").write_text(text)
    return tmp_path / "page.md"


@pytest.mark.parametrize(
    "link",
    [
        "other.md",
        "other.md#the-other-page",
        "other.md#two",
        "#own",
        "https://example.org/x.md",
        "other.md 'title'",
    ],
)
def test_good_links(page: Path, link: str) -> None:
    page.write_text(f"# Own\n[text]({link})\n")
    assert broken_links(page) == []


@pytest.mark.parametrize("link", ["none.md", "other.md#not-a-heading", "#three", "folder/"])
def test_broken_links(page: Path, link: str) -> None:
    page.write_text(f"# Own\n[text]({link})\n")
    assert broken_links(page) == [link]


def test_code_holds_no_links(page: Path) -> None:
    page.write_text("`[a](none.md)`\n\n```\n[b](none.md)\n```\n")
    assert broken_links(page) == []


def test_a_broken_link_fails_the_whole(page: Path) -> None:
    page.write_text("[a](none.md)\n")
    assert not docs(page.parent).ok
    page.write_text("[a](other.md)\n")
    assert docs(page.parent).ok
    page.write_text("```\nls\n```\n")
    assert not docs(page.parent).ok
