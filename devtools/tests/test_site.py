# SPDX-License-Identifier: Apache-2.0
"""The site: links, anchors, what other hosts are asked for, the reference."""

from pathlib import Path, PurePosixPath
from typing import Any

import pytest

from devtools.site import build, links
from devtools.site.links import slug

griffe = pytest.importorskip("griffe", reason="missing package griffe: python3 dev.py setup")

from devtools.site import docstrings, reference  # noqa: E402  # they import griffe


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with a page, a README, a program and a folder."""
    for name, text in {
        "docs/how-to/page.md": (
            "# Page\n\n[a](../other.md#two) [p](../../code/run.py) [r](../../README.md#top)\n"
            "[f](../../code) [w](https://example.org) [h](#page) `[c](../../none.py)`\n\n"
            "```\n[d](../../none.py)\n```\n![i](../graph.svg)\n"
        ),
        "docs/other.md": "# Other\n",
        "docs/graph.svg": "<svg/>",
        "README.md": (
            "# Top\n\n[docs](docs/how-to/page.md) [l](LICENSE)\n\n![i](docs/graph.svg)\n"
        ),
        "LICENSE": "text",
        "code/run.py": "print(1)\n",
        "unlinked.md": "[x](code)",
    }.items():
        place = tmp_path / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    return tmp_path


def test_links_of_a_page_lead_to_pages_of_the_site(repository: Path) -> None:
    file = PurePosixPath("docs/how-to/page.md")
    text = (repository / file).read_text()
    assert links.rewritten(repository, text, file) == (
        "# Page\n\n[a](../other.md#two) [p](../repository/code/run.py.md) "
        "[r](../repository/README.md#top)\n"
        "[f](../repository/code/README.md) [w](https://example.org) [h](#page) "
        "`[c](../../none.py)`\n\n```\n[d](../../none.py)\n```\n![i](../graph.svg)\n"
    )


def test_files_that_pages_lead_to_get_pages(repository: Path) -> None:
    found = links.linked_pages(repository)
    assert [str(path) for path in found] == ["LICENSE", "README.md", "code", "code/run.py"]
    assert links.page_of(repository, PurePosixPath("LICENSE")) == "repository/LICENSE.md"
    program = links.shown(repository, PurePosixPath("code/run.py"))
    assert program == "# code/run.py\n\n````python\nprint(1)\n\n````\n"
    assert "* [run.py](run.py.md)" in links.shown(repository, PurePosixPath("code"))
    top = links.shown(repository, PurePosixPath("README.md"))
    assert "[docs](../how-to/page.md) [l](LICENSE.md)" in top
    assert "![i](../graph.svg)" in top


@pytest.mark.parametrize(
    ("heading", "anchor"),
    [
        ("What `map()` has waited for", "what-map-has-waited-for"),
        ("AccessError (SamebytesError)", "accesserror-samebyteserror"),
        ("fork() and exit", "fork-and-exit"),
        ("a_b - c", "a_b---c"),
    ],
)
def test_anchors_are_those_of_github(heading: str, anchor: str) -> None:
    assert slug(heading) == anchor


@pytest.mark.parametrize(
    "tag",
    [
        '<script src="https://example.org/a.js"></script>',
        "<img alt='x' src='http://example.org/a.png'>",
        '<link rel="stylesheet" href="//example.org/a.css">',
        "<link href=https://example.org/f.woff rel=preload>",
        "<style>@import url('https://example.org/a.css')</style>",
    ],
)
def test_what_is_loaded_from_other_hosts_is_found(tmp_path: Path, tag: str) -> None:
    (tmp_path / "a.html").write_text(f"<p>one</p>{tag}")
    assert len(list(build.foreign(tmp_path))) == 1


@pytest.mark.parametrize(
    "tag",
    [
        '<a href="https://example.org">x</a>',
        '<script src="assets/a.js"></script>',
        '<link rel="canonical" href="https://example.org/">',
        "<code>&lt;img src=https://example.org&gt;</code>",
    ],
)
def test_what_a_reader_follows_is_not(tmp_path: Path, tag: str) -> None:
    (tmp_path / "a.html").write_text(tag)
    assert list(build.foreign(tmp_path)) == []


def test_names_docstrings_and_pages_are_in_step() -> None:
    assert reference.complaints() == []


def test_public_modules_are_read() -> None:
    assert {"samebytes", "samebytes.plugins", "samebytes_openvino.intel_gpu"} <= {
        *reference.modules()
    }
    assert not any("._" in name or "demo" in name for name in reference.modules())


def test_pages_that_are_out_of_step(tmp_path: Path) -> None:
    for file in reference.PAGES.glob("*.md"):
        (tmp_path / file.name).write_text(file.read_text())
    functions = tmp_path / "functions.md"
    functions.write_text(functions.read_text().replace("::: samebytes.stats\n", ""))
    (tmp_path / "more.md").write_text("::: samebytes.tensor\n\n::: samebytes.nothing\n")
    assert sorted(reference.complaints(tmp_path)) == [
        "more.md shows samebytes.nothing, which is not public, or has another name first",
        "samebytes.stats is on no page of docs/reference/api: add `::: samebytes.stats`",
        "samebytes.tensor is on several pages: functions.md, more.md",
    ]


_FUNCTIONS = '''
class Base:
    def same(self, a):
        """Does it.

        Args:
            a: a number.
        """

    def like(self, a, c):
        """As `same(a)`, with c."""

class Derived(Base):
    def same(self, a, b):
        """Does it otherwise."""

def nothing(a): ...

def good(a, b, *more):
    """Does it.

    Args:
        a, b: numbers.
        *more: others.

    Raises:
        ValueError: a is b.
    """
    raise ValueError("x")

def bad(a):
    """Does it."""
    if a:
        raise errors.LayoutError("x")
    def inner():
        raise KeyError("not of this one")

def abstract():
    """Subclasses do it."""
    raise NotImplementedError("x")

def named() -> int:
    """The number of them."""

def said() -> int:
    """Count them, and return how many there are."""

def section() -> int:
    """Count them.

    Returns:
        How many there are.
    """

def silent() -> int:
    """Count them."""

def other(a):
    """Does it.

    Args:
        a: a number.

    Raises:
        KeyError: there is none.
    """
    raise ValueError("x")

def caught(a):
    """Does it.

    Args:
        a: a number.

    Raises:
        LookupError: there is none.
    """
    try:
        if a:
            raise ValueError("x")
        raise KeyError("y")
    except (KeyError, IndexError):
        raise LookupError("z") from None
    raise TypeError("after it")

def unit(timeout, nbytes, pitch, width):
    """Does it.

    Args:
        timeout: how long.
        nbytes: how much.
        pitch: as of `good`.
        width: how wide, in pixels.
    """

def owner(fd, queue, native_handle):
    """Does it.

    Args:
        fd: of the memory.
        queue: to work on.
        native_handle: to look at.
    """

def owned(fd):
    """Does it.

    Args:
        fd: which stays the caller's.
    """

class Plain:
    """It has a first one.

    Attributes:
        second: and a second one.
    """

    first: int
    second: int
    third: int
    _fourth: int
    fifth: int
    """The fifth."""

    @property
    def sixth(self) -> int:
        return 6

class More(Plain):
    """More."""

    second: int

class Element:
    """One."""

class Blur(Element):
    """Blurs."""

    def __init__(self, radius):
        self.radius = radius
'''


_UNSAID = "may be held, taken over or only looked at: it is not said which"


@pytest.mark.parametrize(
    ("name", "lacks"),
    [
        ("nothing", ["no docstring"]),
        ("good", []),
        ("bad", ["Args lacks a", "no Raises, but it raises LayoutError"]),
        ("abstract", []),
        ("Base.same", []),
        ("Base.like", ["Args lacks c"]),
        ("Derived.same", ["Args lacks b"]),
        ("named", []),
        ("said", []),
        ("section", []),
        ("silent", ["no Returns, and 'Count them.' does not say what it returns"]),
        ("other", ["Raises lacks ValueError"]),
        ("caught", ["Raises lacks TypeError, ValueError"]),
        ("owner", [f"{name} {_UNSAID}" for name in ("fd", "queue", "native_handle")]),
        ("owned", []),
        ("unit", ["timeout has no unit: seconds", "nbytes has no unit: bytes"]),
    ],
)
def test_what_docstrings_lack(tmp_path: Path, name: str, lacks: list[str]) -> None:
    assert docstrings.lacking(made_up(tmp_path)[name]) == lacks


@pytest.mark.parametrize(
    ("name", "lacks"), [("Plain", ["third", "sixth"]), ("More", []), ("Blur", [])]
)
def test_attributes_that_are_explained_nowhere(tmp_path: Path, name: str, lacks: list[str]) -> None:
    assert docstrings.unexplained(made_up(tmp_path)[name]) == lacks


def made_up(folder: Path) -> Any:
    """A module whose docstrings lack something."""
    (folder / "made_up.py").write_text(_FUNCTIONS)
    loader = griffe.GriffeLoader(search_paths=[str(folder)], docstring_parser=griffe.Parser.google)
    return loader.load("made_up")


def test_the_devices_of_examples_are_shown() -> None:
    """The comments are for tests, and readers of the site do not see them."""
    text = (
        "# Page\n\n<!-- runs on: vaapi, gpu -->\n\nText.\n\n"
        "<!-- runs on: npu -->\n```python\nx\n```\n"
    )
    help_ = "[software devices](test-without-hardware.md)"
    assert links.with_devices(text, "how-to/page.md") == (
        f"# Page\n\n\n*Runs on a GPU with VA-API and an Intel GPU, or {help_}.*\n\n\nText.\n\n"
        f"\n*Runs on an Intel NPU, or {help_}.*\n\n```python\nx\n```\n"
    )
    deep = links.with_devices(text, "repository/backends/vaapi/README.md")
    assert "](../../../how-to/test-without-hardware.md)" in deep
    fenced = "```text\n<!-- runs on: gpu -->\n```\n"
    assert links.with_devices(fenced, "page.md") == fenced
