# SPDX-License-Identifier: Apache-2.0
"""Elements made of plain functions and generators."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Sized
from functools import partial
from os import PathLike
from typing import Any, ClassVar, Concatenate, ParamSpec, Protocol, TypeVar, overload

from .._core.memory.frame import Frame
from ..errors import UnsupportedObjectError
from . import _parameters
from ._element import Element, Sink, Source, Transform, TransformInplace, refuse_unrun
from ._media import Media, same

__all__ = ["element_of", "inplace", "sink", "source", "transform"]

_ANY, _SAME = Media(), same()

P = ParamSpec("P")
E_co = TypeVar("E_co", bound=Element, covariant=True)


class _Decorator(Protocol[E_co]):
    """Turns a function of a frame into one of its other parameters, which returns an element."""

    def __call__(self, function: Callable[Concatenate[Any, P], Any], /) -> Callable[P, E_co]: ...


class _SourceDecorator(Protocol):
    """The same for a function that gets no frame."""

    def __call__(self, function: Callable[P, Any], /) -> Callable[P, Source]: ...


class _OfFunction(Element):
    """Calls a function with the frame and the parameters, which are its keyword-only ones."""

    function: ClassVar[Callable[..., Any]]

    def open(self, context: Any) -> None:
        super().open(context)
        vars(self)[self._samebytes_work] = partial(self.function, **self.parameters)


class _SourceOfFunction(_OfFunction, Source):
    """Gives the frames that a generator function yields."""

    def open(self, context: Any) -> None:
        super().open(context)
        given = vars(self)["read"]()
        if not isinstance(given, Iterable):
            raise UnsupportedObjectError(
                f"{self.name}() returned {given!r}: it must `yield` frames, or return an iterable"
            )
        frames = iter(given)
        # Elsewhere None is the end of a stream; from a generator it only means no frame.
        vars(self)["read"] = lambda: next((one for one in frames if one is not None), None)


class _SourceOfIterable(Source):
    """Gives the frames of an iterable: a list, a generator, PyAV's container.decode() ..."""

    name = "frames"

    def __init__(self, frames: Iterable[Any]) -> None:
        super().__init__()
        self._frames = frames
        self._iterator: Iterator[Any] = iter(())

    def open(self, context: Any) -> None:
        super().open(context)
        self._iterator = iter(self._frames)

    def frames_expected(self) -> int | None:
        return len(self._frames) if isinstance(self._frames, Sized) else None

    def read(self) -> Any:
        for one in self._iterator:
            if one is not None:
                return one
        return None

    def close(self) -> None:
        super().close()
        self._iterator = iter(())


@overload
def source(function: Callable[P, Any], /) -> Callable[P, Source]: ...


@overload
def source(*, gives: Any = ..., live: bool = ...) -> _SourceDecorator: ...


def source(
    function: Callable[..., Any] | None = None, /, *, gives: Any = _ANY, live: bool = False
) -> Callable[..., Any]:
    """Make a Source of a generator function; its keyword-only parameters are the element's.

    Args:
        function: the function itself, for `@el.source` without parentheses.
        gives: a pattern, such as `el.Image("NV12", memory="cpu")`, or several in a tuple.
        live: frames come at their own time, and may be left out.

    Returns:
        A decorator, as from `inplace`; with a function, the result of decorating it.
    """
    return _decorated(_SourceOfFunction, {"gives": gives, "live": live}, function, 0)


@overload
def transform(function: Callable[Concatenate[Any, P], Any], /) -> Callable[P, Transform]: ...


@overload
def transform(
    *, takes: Any = ..., gives: Any = ..., concurrent: bool = ...
) -> _Decorator[Transform]: ...


def transform(
    function: Callable[..., Any] | None = None,
    /,
    *,
    takes: Any = _ANY,
    gives: Any = _SAME,
    concurrent: bool = False,
) -> Callable[..., Any]:
    """Make a Transform of a function or generator function of one frame.

    Args:
        function: the function itself, for `@el.transform` without parentheses.
        takes: a pattern, such as `el.Image("NV12", memory="cpu")`, or several in a tuple.
        gives: a pattern, or `el.same()` for the frame that it takes.
        concurrent: several threads may call it at a time; its frames keep their order all the same.

    Returns:
        A decorator, as from `inplace`; with a function, the result of decorating it.
    """
    attributes = {"takes": takes, "gives": gives, "concurrent": concurrent}
    return _decorated(_transform, attributes, function)


@overload
def inplace(function: Callable[Concatenate[Any, P], Any], /) -> Callable[P, TransformInplace]: ...


@overload
def inplace(*, takes: Any = ..., concurrent: bool = ...) -> _Decorator[TransformInplace]: ...


def inplace(
    function: Callable[..., Any] | None = None,
    /,
    *,
    takes: Any = _ANY,
    concurrent: bool = False,
) -> Callable[..., Any]:
    """Make a TransformInplace of a function of one frame.

    @el.inplace
    def note(frame):  # frames as they come, to read, and to add metadata and regions
        frame.metadata["seen"] = True

    @el.inplace(takes=el.Image("NV12|I420", memory="cpu", access="rw"))
    def blur(frame, *, radius: Annotated[int, el.Range(1, 31)] = 5): ...

    pipe = el.Pipeline(frames, blur(radius=7))

    Args:
        function: the function itself, for `@el.inplace` without parentheses.
        takes: a pattern, such as `el.Image("NV12", memory="cpu")`, or several in a tuple. By
            default frames come as they are, and are only read.
        concurrent: several threads may call it at a time; its frames keep their order all the same.

    Returns:
        A decorator. The decorated function is called with the element's parameters, and returns an
        element. With `function`, the decorated function itself.
    """
    return _decorated(_inplace, {"takes": takes, "concurrent": concurrent}, function)


@overload
def sink(function: Callable[Concatenate[Any, P], Any], /) -> Callable[P, Sink]: ...


@overload
def sink(*, takes: Any = ...) -> _Decorator[Sink]: ...


def sink(function: Callable[..., Any] | None = None, /, *, takes: Any = _ANY) -> Callable[..., Any]:
    """Make a Sink of a function of one frame.

    Args:
        function: the function itself, for `@el.sink` without parentheses.
        takes: a pattern, such as `el.Image("NV12", memory="cpu")`, or several in a tuple.

    Returns:
        A decorator, as from `inplace`; with a function, the result of decorating it.
    """
    return _decorated(_sink, {"takes": takes}, function)


_transform = type("_TransformOfFunction", (_OfFunction, Transform), {"__module__": __name__})
_inplace = type("_InplaceOfFunction", (_OfFunction, TransformInplace), {"__module__": __name__})
_sink = type("_SinkOfFunction", (_OfFunction, Sink), {"__module__": __name__})


def _decorated(
    base: type[Element],
    attributes: dict[str, Any],
    function: Callable[..., Any] | None,
    frames: int = 1,
) -> Callable[..., Any]:
    if function is None:
        return partial(_made, base, attributes, frames)
    if not callable(function):
        raise TypeError(f"a function is decorated, not {function!r}: name the argument")
    return _made(base, attributes, frames, function)


def _made(
    base: type[Element], attributes: dict[str, Any], frames: int, function: Callable[..., Any]
) -> Callable[..., Any]:
    declared = _checked_parameters(base, frames, function)
    made: type[Element] = type(
        _name(function),
        (base,),
        {
            **attributes,
            "__doc__": function.__doc__,
            "__module__": getattr(function, "__module__", __name__),
            "function": staticmethod(function),
        },
    )
    made._declared = declared
    return made


def _element(base: type[Element], frames: int, function: Callable[..., Any]) -> Element:
    """An element that calls a function as it is, with its own defaults.

    It has no class of its own: only the garbage collector would free that, and the objects that the
    function refers to.
    """
    for parameter in _checked_parameters(base, frames, function).values():
        if parameter.required:
            raise _parameters.missing(_name(function), parameter)
    made = base()
    vars(made).update(function=function, name=_name(function))
    return made


def _checked_parameters(
    base: type[Element], frames: int, function: Callable[..., Any]
) -> dict[str, _parameters.Parameter]:
    declared = _parameters.of_function(function)
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    given = [p for p in inspect.signature(function).parameters.values() if p.kind in kinds]
    if len(given) != frames:
        wanted = "one parameter, the frame" if frames else "no parameter"
        raise TypeError(f"{_name(function)}() must have {wanted} before `*`")
    # A source's function yields its frames.
    refuse_unrun(function, _name(function), base._samebytes_instead if frames else "")
    return declared


def _name(function: Callable[..., Any]) -> str:
    return getattr(function, "__name__", type(function).__name__)


def element_of(thing: Any, *, first: bool) -> Element:
    """The element for an item of a pipeline.

    Args:
        thing: an element, a function of one frame, or, as the first, an iterable of frames.
        first: True for the source of the pipeline.

    Raises:
        UnsupportedObjectError: it is none of these.
    """
    if isinstance(thing, Element):
        return thing
    if isinstance(thing, type) and issubclass(thing, Element):
        raise UnsupportedObjectError(
            f"{thing.__name__} is a class: pass an element of it, {thing.__name__}(...)"
        )
    if first and isinstance(thing, Iterable) and not isinstance(thing, str | bytes | Frame):
        return _SourceOfIterable(thing)
    if first and inspect.isgeneratorfunction(thing):
        return _element(_SourceOfFunction, 0, thing)
    if not first and callable(thing):
        return _element(_transform, 1, thing)
    wanted = "a source or an iterable of frames" if first else "an element or a function of a frame"
    advice = ""
    if isinstance(thing, str | PathLike):
        made = 'create("ffmpeg.source", name) reads a video' if first else "create(name) makes one"
        advice = f": samebytes.elements.{made}"
    raise UnsupportedObjectError(f"a pipeline needs {wanted} here, not {thing!r}{advice}")
