# SPDX-License-Identifier: Apache-2.0
"""The pipeline that FILE:NAME stands for."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ..errors import UnknownNameError, UnsupportedObjectError

if TYPE_CHECKING:
    from ..elements import Pipeline

__all__ = ["pipeline_in"]

_NAME = "pipeline"


def pipeline_in(text: str) -> Pipeline:
    """Import a file or module, and get the pipeline from it.

    Args:
        text: `FILE.py`, `FILE.py:NAME`, `module` or `module:NAME`.

    Raises:
        UnknownNameError: there is no such file or module, or no such name in it.
        UnsupportedObjectError: it is something else.
    """
    from ..elements import Pipeline

    place, sign, name = text.rpartition(":")
    if not sign:
        place, name = text, _NAME
    module = _module(place)
    try:
        found: Any = getattr(module, name)
    except AttributeError:
        known = [
            one
            for one, value in vars(module).items()
            if isinstance(value, Pipeline) or getattr(value, "__module__", "") == module.__name__
        ]
        raise UnknownNameError("pipeline", name, known, f"(in {place})") from None
    if callable(found) and not isinstance(found, type):
        found = found()
    if not isinstance(found, Pipeline):
        raise UnsupportedObjectError(
            f"{text} is a {type(found).__name__}, neither a Pipeline nor a function that returns "
            "one"
        )
    return found


def _module(place: str) -> ModuleType:
    path = Path(place)
    if path.suffix != ".py" and not path.exists():
        sys.path.insert(0, "")  # as `python -m` does
        try:
            return importlib.import_module(place)
        except ModuleNotFoundError as error:
            if error.name is None or not f"{place}.".startswith(f"{error.name}."):
                raise
            raise UnknownNameError("file or module", place, ()) from None
    if not path.is_file():
        raise UnknownNameError("file", place, (), "(there is no such file)")
    # As `python FILE` does: what lies beside it can be imported.
    sys.path.insert(0, str(path.parent.absolute()))
    spec = importlib.util.spec_from_file_location("samebytes_pipeline", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module
