# SPDX-License-Identifier: Apache-2.0
"""The anchors of headings, as GitHub names them, so that a link works there and on the site."""

import re

__all__ = ["slug"]


def slug(heading: str, separator: str = "-") -> str:
    """The anchor of a heading: small letters, hyphens for spaces, no punctuation."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", separator)
