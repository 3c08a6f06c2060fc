# SPDX-License-Identifier: Apache-2.0
"""The devices that examples need, of comments such as `runs on: gpu`, as text on the site."""

import posixpath
import re

from devtools.blocks import FENCE

__all__ = ["with_devices"]

_MARK = re.compile(r"^<!-- runs on: ([^>]+?) -->\n", re.MULTILINE)
_NAMES = {
    "gpu": "an Intel GPU",
    "npu": "an Intel NPU",
    "vaapi": "a GPU with VA-API",
    "cuda": "an NVIDIA GPU",
}
_HELP = "how-to/test-without-hardware.md"


def with_devices(markdown: str, page: str) -> str:
    """The text of a page, with a line in place of each comment that names devices.

    Args:
        markdown: of the page.
        page: its path below the folder of the documents, from which links lead.
    """
    link = posixpath.relpath(_HELP, posixpath.dirname(page) or ".")
    fences = [(found.start(), found.end()) for found in FENCE.finditer(markdown)]

    def shown(mark: re.Match[str]) -> str:
        if any(start <= mark.start() < end for start, end in fences):
            return mark[0]
        names = [_NAMES[name] for name in mark[1].split(", ")]
        *others, last = names
        what = f"{', '.join(others)} and {last}" if others else last
        instead = "" if page == _HELP else f", or [software devices]({link})"
        return f"\n*Runs on {what}{instead}.*\n\n"

    return _MARK.sub(shown, markdown)
