# SPDX-License-Identifier: Apache-2.0
"""The check that every block of code runs, or says why it cannot."""

from pathlib import Path

import pytest

from devtools.blocks import blocks_of, commands, complaints, docs

TEST = "def test_it(): ...\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_a.py").write_text(TEST)
    (tmp_path / "program.py").write_text("def f():\n    x = 1\n\n    return x\n")
    return tmp_path


def of(root: Path, text: str) -> list[str]:
    """The complaints about a page, without its name and line."""
    (root / "page.md").write_text(text)
    return [line.split(": ", 1)[1] for line in complaints(root)]


@pytest.mark.parametrize(
    "text",
    [
        "```python\nx = 1\n```\n",
        "```sh\nls\n```\n",
        "```text\n2 boxes, x = 1 of them\n```\n",
        "```toml\na = 1\n```\n",
        '```json\n{"a": 1}\n```\n',
        "<!-- not run: it is C++ -->\n```cpp\nint x;\n```\n",
        "<!-- not run: it is C++ -->\n\n```cpp\nint x;\n```\n",
        "<!-- run by: tests/test_a.py::test_it -->\n```sh\nrm -r all\n```\n",
        "<!-- part of: program.py -->\n```python\nx = 1\n\nreturn x\n```\n",
        "<!-- part of: program.py -->\n```python\ndef f():\n    x = 1\n```\n",
        "<!-- runs on: gpu -->\n<!-- not run: it is C++ -->\n```cpp\nint x;\n```\n",
        "# A\n\n<!-- blocks not run: pieces -->\n\nText\n\n```cpp\na\n```\nText\n```cpp\nb\n```\n",
    ],
)
def test_blocks_that_are_right(root: Path, text: str) -> None:
    assert of(root, text) == []


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("```\nls\n```\n", "say what it is"),
        ("```bash\nls\n```\n", "no test runs it"),
        ("```cpp\nint x;\n```\n", "no test runs it"),
        ("<!-- not run: it is C++ -->\ntext\n```cpp\nint x;\n```\n", "no test runs it"),
        ('```python title="a.py"\nx = 1\n```\n', "no test runs it"),
        ("<!-- run by: tests/none.py::test_it -->\n```sh\nls\n```\n", "s/none.py does not exist"),
        ("<!-- run by: tests/test_a.py::test_b -->\n```sh\nls\n```\n", "tests/test_a.py has no"),
        ("<!-- part of: program.py -->\n```python\nx = 2\n```\n", "program.py has other lines"),
        ("<!-- part of: none.py -->\n```python\nx = 2\n```\n", "none.py does not exist"),
        ("<!-- not run: it is C++ -->\n```cpp run\nx\n```\n", "the site takes no 'run'"),
        ("```toml\na =\n```\n", "it is not toml"),
        ("```json\n{a}\n```\n", "it is not json"),
        ("<!-- not run: a piece -->\n```python\ndef f(:\n```\n", "it is not Python"),
        ('```sh\npip install "samebytes[opencv,none]"\n```\n', "samebytes[none] does not exist"),
        ("```sh\npip install ./sdk ./none\n```\n", "none does not exist"),
    ],
)
def test_blocks_that_are_wrong(root: Path, text: str, complaint: str) -> None:
    (found,) = of(root, text)
    assert found.startswith(complaint) or complaint in found


def test_a_comment_is_of_one_block_or_of_the_page(root: Path) -> None:
    page = root / "page.md"
    one = "<!-- runs on: vaapi -->\n```python\nx = 1\n```\n"
    page.write_text(f"# A\n\n```python\nx = 0\n```\n{one}```python\nx = 2\n```\n")
    assert [block.devices for block in blocks_of(page, root)] == [(), ("vaapi",), ()]
    page.write_text(f"# A\n\n<!-- runs on: gpu, npu -->\n\nText\n\n```sh\nls\n```\n{one}")
    assert [block.devices for block in blocks_of(page, root)] == [("gpu", "npu"), ("vaapi",)]
    page.write_text(f"# A\n\n<!-- blocks not run: why -->\n\n{one}```text\nx\n```\n")
    first, second = blocks_of(page, root)
    assert (first.not_run, first.devices, first.runs) == ("why", ("vaapi",), False)
    assert (second.not_run, second.runs, second.line) == ("", False, 9)


def test_what_a_test_runs_of_a_shell_block() -> None:
    code = (
        "# Debian 12\nsudo apt install a \\\n    b\npip install c\nrun this \\\n  -- that\n\n"
        "  apt-get install d   # why\nsamebytes doctor\n"
    )
    assert commands(code) == ["run this -- that", "samebytes doctor"]


def test_a_wrong_block_fails_the_whole(root: Path) -> None:
    (root / "page.md").write_text("```sh\nls\n```\n")
    assert docs(root).ok
    (root / "page.md").write_text("```\nls\n```\n")
    assert not docs(root).ok


def test_the_pages_of_this_repository() -> None:
    assert complaints() == []
