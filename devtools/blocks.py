# SPDX-License-Identifier: Apache-2.0
"""The blocks of code in the Markdown files: which test runs each, or why none can.

* ` ```python ` and ` ```sh ` run as printed (tests/test_readme.py), except lines of ` ```sh ` that
  install something: tests download nothing, and are not root. devtools/installs.py reads those.
* ` ```text ` is the output of a program, or a drawing. toml and json are read here.
* A comment before a block, or `blocks` before all blocks of a page, says otherwise:

      <!-- not run: its decoder is hardware -->
      <!-- run by: tests/e2e/test_samples.py::test_detect_and_draw -->
      <!-- part of: samples/detect.py -->
      <!-- blocks run by: tests/authors/test_tutorial.py::test_it_passes_its_tests -->
      <!-- runs on: gpu, npu -->

The last one names the devices without which a block is skipped. Before text, it is for readers.
"""

import ast
import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from textwrap import indent
from typing import NamedTuple

from devtools import installs
from devtools.results import Result
from devtools.workspace import ROOT, source_files

FENCE = re.compile(
    r"^(?P<indent> *)(?P<fence>`{3,}|~{3,})(?P<info>[^\n]*)\n"
    r"(?P<code>.*?)^(?P=indent)(?P=fence) *$",
    re.MULTILINE | re.DOTALL,
)
# The comments before a block, with nothing in between.
_COMMENTS = re.compile(r"(?:^<!-- (?!blocks )[^>]+ -->\s*)+\Z", re.MULTILINE)
_MARK = re.compile(r"<!-- (not run|run by|runs on|part of): ([^>]+?) -->")
_PAGE_MARK = re.compile(r"^<!-- (?:blocks (not run|run by)|(runs on)): ([^>]+?) -->$", re.MULTILINE)
# Run as printed, unless a comment says otherwise.
RUN = ("python", "sh")
_OPTIONS = re.compile(r'(\w+="[^"]*" ?)*')
# Not code that could run: output and drawings.
_NO_CODE = ("text",)
_READ = {"toml": tomllib.loads, "json": json.loads}
# A block that a program writes into a page: `<!-- begin: NAME -->`, the text, `<!-- end -->`.
_WRITTEN = re.compile(r"(<!-- begin: (?P<name>[^>]+) -->\n).*?(<!-- end -->)", re.DOTALL)
_INSTALLS = re.compile(r"((sudo )?(apt|apt-get) install |pip install ).*")


class Block(NamedTuple):
    """A block of code.

    Attributes:
        page: the file, below the root.
        line: the line of its first fence.
        language, words: the words after the fence.
        code: the text between the fences.
        run_by: "FILE::TEST", or "".
        not_run: the reason why no test runs it, or "".
        part_of: the program that has these lines, or "".
        devices: the devices that it needs: "gpu", "npu", "vaapi", "cuda".
    """

    page: str
    line: int
    language: str
    words: str
    code: str
    run_by: str
    not_run: str
    part_of: str
    devices: tuple[str, ...]

    @property
    def runs(self) -> bool:
        """True if the block runs as printed."""
        return self.language in RUN and not (
            self.words or self.run_by or self.not_run or self.part_of
        )


def pages(root: Path = ROOT) -> Iterator[Path]:
    """Every Markdown file."""
    yield from source_files(".md", below=root)


def blocks_of(page: Path, root: Path = ROOT) -> list[Block]:
    """The blocks of one file, in order."""
    text = page.read_text()
    fences = list(FENCE.finditer(text))
    begins = [0, *(fence.end() for fence in fences)]
    comments = [_COMMENTS.search(text, b, f.start()) for b, f in zip(begins, fences, strict=False)]
    rest = text
    for found in comments:
        if found:
            rest = rest.replace(found[0], "", 1)
    of_page = {mark[1] or mark[2]: mark[3] for mark in _PAGE_MARK.finditer(rest)}
    name = page.relative_to(root).as_posix()
    return [
        _block(name, text, fence, of_page, found[0] if found else "")
        for fence, found in zip(fences, comments, strict=True)
    ]


def _block(
    page: str, text: str, fence: re.Match[str], of_page: dict[str, str], comments: str
) -> Block:
    language, _, words = fence["info"].partition(" ")
    own = dict(_MARK.findall(comments))
    says = own if language in (*_NO_CODE, *_READ) else {**of_page, **own}
    if own.keys() & {"run by", "not run", "part of"}:
        says = {**own, "runs on": says.get("runs on", "")}
    devices = says.get("runs on", "")
    return Block(
        page,
        text.count("\n", 0, fence.start()) + 1,
        language,
        words,
        fence["code"],
        says.get("run by", ""),
        says.get("not run", ""),
        says.get("part of", ""),
        tuple(devices.split(", ")) if devices else (),
    )


def docs(root: Path = ROOT) -> Result:
    """Check that each block of code below `root` is run by a test, or says why not."""
    wrong = complaints(root)
    for line in wrong:
        print(line)
    number = sum(len(blocks_of(page, root)) for page in pages(root))
    good = f"{number} blocks run or say why not"
    return Result("docs", not wrong, f"{len(wrong)} wrong blocks of code" if wrong else good)


def complaints(root: Path = ROOT) -> list[str]:
    """The errors in the blocks of all files, and in what they install, as `page:line: error`."""
    return [found for page in pages(root) for found in _of_page(page, root)]


def _of_page(page: Path, root: Path) -> Iterator[str]:
    for block in blocks_of(page, root):
        for found in _wrong(block, root):
            yield f"{block.page}:{block.line}: {found}"
    name = page.relative_to(root).as_posix()
    for line, found in installs.of_page(name, page.read_text()):
        yield f"{name}:{line}: {found}"


def commands(code: str) -> list[str]:
    """The lines of a ```sh block that do not only install something, continued ones joined."""
    lines = re.sub(r" *\\\n *", " ", code).splitlines()
    kept = [line for line in lines if line.strip() and not line.lstrip().startswith("#")]
    return [line for line in kept if not _INSTALLS.match(line.strip())]


def _wrong(block: Block, root: Path) -> Iterator[str]:
    if not _OPTIONS.fullmatch(block.words):
        yield f'the site takes no {block.words!r} behind the fence: only options such as title="x"'
    if block.run_by:
        yield from _missing_test(block.run_by, root)
    elif block.part_of:
        yield from _not_part_of(block, root)
    elif block.not_run or block.runs or block.language in _NO_CODE:
        pass
    elif block.language in _READ:
        try:
            _READ[block.language](block.code)
        except ValueError as error:
            yield f"it is not {block.language}: {error}"
    elif not block.language:
        yield "say what it is: ```python, ```sh, or ```text for what a program prints"
    else:
        yield "no test runs it: <!-- run by: FILE::TEST --> or <!-- not run: REASON --> before it"
    if block.language == "python" and not _parses(block.code):
        yield "it is not Python"


def _missing_test(named: str, root: Path) -> Iterator[str]:
    file, _, test = named.partition("::")
    if not (root / file).is_file():
        yield f"{file} does not exist"
    elif not re.search(rf"^ *def {re.escape(test)}\(", (root / file).read_text(), re.MULTILINE):
        yield f"{file} has no {test or 'test of that name'}"


def _not_part_of(block: Block, root: Path) -> Iterator[str]:
    file = root / block.part_of
    if not file.is_file():
        yield f"{block.part_of} does not exist"
    elif block.code not in file.read_text() and indent(block.code, "    ") not in file.read_text():
        yield f"{block.part_of} has other lines"


def _parses(code: str) -> bool:
    try:
        ast.parse(code)
    except SyntaxError:
        return False
    return True


def filled(page: str, blocks: Mapping[str, str]) -> str:
    """The page with its blocks replaced by these.

    Raises:
        LookupError: one of its blocks is not given, or it lacks one that is given.
    """
    there = {match["name"] for match in _WRITTEN.finditer(page)}
    if there != blocks.keys():
        raise LookupError(f"the page has blocks for {sorted(there)}, given were {sorted(blocks)}")
    return _WRITTEN.sub(lambda match: f"{match[1]}{blocks[match['name']]}\n{match[3]}", page)
