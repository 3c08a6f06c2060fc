# SPDX-License-Identifier: Apache-2.0
"""docs/reference/errors.md lists the error messages of the source."""

import ast

import samebytes.errors
from devtools import error_page
from devtools.error_page import Errors

SOURCE = '''
_ADVICE = "close it first"

class SamebytesError(Exception):
    """The root."""

class LayoutError(SamebytesError):
    """A layout.

    More.
    """

def failed(name, rows):
    if rows:
        return LayoutError(f"{name!r} has {len(rows)} rows: " + _ADVICE)
    if len(rows) < 2:
        raise LayoutError(f"only {counted(len(rows), 'row')}")
    if len(rows) > 9:
        raise LayoutError("rows", len(rows), None, why=["too many", name])
    raise LayoutError(str(name))

def other():
    raise ValueError("not ours")
'''


def test_messages_are_found_by_class_and_distribution() -> None:
    found = Errors({"toy": [ast.parse(SOURCE)]})

    assert list(found.classes) == ["SamebytesError", "LayoutError"]
    assert found.classes["LayoutError"].summary == "A layout."
    texts = {"{name} has {rows} rows: close it first", "only {rows} rows"}
    assert found.messages == {"LayoutError": {"toy": {*texts, "rows ... too many, {name}"}}}


def test_every_error_is_there() -> None:
    found = set(error_page.errors().classes)
    assert set(samebytes.errors.__all__) - {"PluginDeprecationWarning"} <= found


def test_page_is_up_to_date_and_keeps_its_remedies() -> None:
    written = error_page.PAGE.read_text()
    assert error_page.page(written) == written, "run: python3 dev.py errors"
    edited = written.replace("**Remedy:** Correct the name;", "**Remedy:** Spell it;")
    assert edited != written
    assert error_page.page(edited) == edited
