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
    raise LayoutError(str(name))

def other():
    raise ValueError("not ours")
'''


def test_messages_are_found_by_class_and_distribution() -> None:
    found = Errors({"toy": [ast.parse(SOURCE)]})

    assert list(found.classes) == ["SamebytesError", "LayoutError"]
    assert found.classes["LayoutError"].summary == "A layout."
    texts = {"{name} has {rows} rows: close it first", "only {rows} rows"}
    assert found.messages == {"LayoutError": {"toy": texts}}


def test_every_class_has_a_template_if_it_needs_one() -> None:
    assert error_page.errors().without_template() == []


def test_every_class_has_a_remedy() -> None:
    found = error_page.errors()

    assert set(samebytes.errors.__all__) - {"PluginDeprecationWarning"} <= set(found.classes)
    assert all(found.remedy(name) for name in found.classes)


def test_remedies_and_templates_are_of_classes_that_exist() -> None:
    known = set(error_page.errors().classes)

    assert set(error_page._REMEDIES) <= known
    assert set(error_page._TEMPLATES) <= known


def test_page_is_up_to_date() -> None:
    assert error_page.PAGE.read_text() == error_page.page(), "run: python3 dev.py errors"
