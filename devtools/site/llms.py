# SPDX-License-Identifier: Apache-2.0
"""llms.txt: the pages of the site for programs that read text, as llmstxt.org describes it.

`llms.txt` lists the pages with their addresses and first sentences, `llms-full.txt` has the text of
all of them, and beside each page lies its Markdown. In place of what the site makes of a docstring
stands the docstring itself.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from devtools.site import reference

__all__ = ["write"]

_HEAD = """\
# samebytes

> One piece of memory, used from Python through FFmpeg, GStreamer, VA-API, DMA-BUF, OpenCL, Level
> Zero, SYCL, CUDA, OpenCV and OpenVINO (CPU, GPU, NPU) without copying it.

The whole text of these pages is in [llms-full.txt](llms-full.txt).
"""
_HEADING = re.compile(r"^# (.+)$", re.MULTILINE)
_NO_PROSE = re.compile(r"^(```|~~~).*?^\1[^\n]*$|^<!--.*?-->$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")


def write(folder: Path, navigation: object, texts: Mapping[str, str]) -> None:
    """Write all of it into the folder of the built site.

    Args:
        folder: where index.html is.
        navigation: MkDocs' navigation, or anything with its `items`.
        texts: the Markdown of each page by its path below docs/.
    """
    written = {name: reference.expanded(text) for name, text in texts.items()}
    for name, text in written.items():
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    lines, whole = [_HEAD], [_HEAD]
    for section, pages in _sections(getattr(navigation, "items", [])):
        lines.append(f"\n## {section}\n")
        for name in pages:
            title, sentence = _title(texts[name], name), _first_sentence(texts[name])
            lines.append(f"- [{title}]({name}){': ' + sentence if sentence else ''}")
            whole.append(f"\n<!-- {name} -->\n\n{written[name]}")
    (folder / "llms.txt").write_text("\n".join(lines) + "\n")
    (folder / "llms-full.txt").write_text("\n".join(whole))


def _sections(items: list[object]) -> Iterator[tuple[str, list[str]]]:
    """Each section at the top with the paths of its pages, in the order of the navigation."""
    alone = [p for item in items if getattr(item, "is_page", False) for p in _pages(item)]
    if alone:
        yield "Start", alone
    for item in items:
        if getattr(item, "is_section", False):
            yield str(getattr(item, "title", "")), list(_pages(item))


def _pages(item: object) -> Iterator[str]:
    if getattr(item, "is_page", False):
        yield item.file.src_uri  # type: ignore[attr-defined]  # a page of MkDocs
    for child in getattr(item, "children", None) or ():
        yield from _pages(child)


def _title(text: str, name: str) -> str:
    found = _HEADING.search(text)
    return found[1].replace("`", "") if found else name


def _first_sentence(text: str) -> str:
    """The first sentence of a page, without links, or "" if it begins with something else."""
    body = _NO_PROSE.sub("", text[text.find("\n") :]).strip()
    paragraph = " ".join(body.partition("\n\n")[0].split())
    if paragraph.startswith(("#", "|", "*", ":::", "!")):
        return ""
    return re.split(r"(?<=[.:]) ", _LINK.sub(r"\1", paragraph))[0].rstrip(":")
