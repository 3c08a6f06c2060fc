# SPDX-License-Identifier: Apache-2.0
"""The pipeline that FILE:NAME stands for."""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from inspect import signature
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ..errors import SamebytesError, UnknownNameError, UnsupportedObjectError
from .lines import line_of

if TYPE_CHECKING:
    from ..elements import Pipeline

__all__ = ["pipeline_in"]

_NAME = "pipeline"


def pipeline_in(text: str) -> Pipeline:
    """Import a file or module, and return the pipeline in it.

    Args:
        text: `FILE.py`, `FILE.py:NAME`, `module` or `module:NAME`.

    Raises:
        UnknownNameError: there is no such file or module, or no such name in it.
        UnsupportedObjectError: the name is not a pipeline, or the file itself raises.
    """
    from ..elements import Pipeline

    place, sign, name = text.rpartition(":")
    if not sign:
        place, name = text, _NAME
    with _named_lines():
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
    does, there = "is", f"put samebytes.elements.Pipeline(*{name})"
    if callable(found) and not isinstance(found, type):
        _check_parameters(text, found)
        with _named_lines():
            found = found()
        does, there = "returns", "return samebytes.elements.Pipeline(*elements)"
    if not isinstance(found, Pipeline):
        advice = f": {there} there" if type(found) is list else ""
        raise UnsupportedObjectError(
            f"{text} {does} an object of {type(found).__name__}, neither a Pipeline nor a function "
            f"that returns one{advice}"
        )
    return found


def _check_parameters(text: str, function: Callable[..., Any]) -> None:
    try:
        signature(function).bind()
    except TypeError as error:
        raise UnsupportedObjectError(
            f"{text} is called without arguments ({error}): give its parameters defaults, or read "
            "os.environ"
        ) from None
    except ValueError:  # a function written in C may not reveal its parameters
        pass


@contextmanager
def _named_lines() -> Iterator[None]:
    """Name the line of the user's file that raised, such as one that reads an unset variable.

    Raises:
        UnsupportedObjectError: the block raised an exception that is not one of samebytes.
    """
    try:
        yield
    except SamebytesError:
        raise
    except SyntaxError as error:
        raise UnsupportedObjectError(
            f"{error.filename}, line {error.lineno}: {type(error).__name__}: {error.msg}"
        ) from error
    except Exception as error:
        line = line_of(error)
        if not line:
            raise
        if isinstance(error, KeyError) and _raised_by_environ(error):
            raise UnsupportedObjectError(
                f"{line}: the environment variable {error.args[0]}, which is read there, is not set"
            ) from error
        raise UnsupportedObjectError(f"{line}: {type(error).__name__}: {error}") from error


def _raised_by_environ(error: KeyError) -> bool:
    """True if `os.environ` raised it: its code is the last in the traceback."""
    at = error.__traceback__
    while at is not None and at.tb_next is not None:
        at = at.tb_next
    return at is not None and at.tb_frame.f_globals is vars(os)


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
        why = "it is a folder" if path.is_dir() else "there is no such file"
        raise UnknownNameError("file", place, (), f"({why})")
    spec = importlib.util.spec_from_file_location("samebytes_pipeline", path)
    if spec is None or spec.loader is None:
        raise UnsupportedObjectError(
            f"{place} is not a file of Python, whose name ends in .py: write one that makes a "
            "pipeline"
        )
    # As `python FILE` does: modules beside the file can be imported.
    sys.path.insert(0, str(path.parent.absolute()))
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module
