# SPDX-License-Identifier: Apache-2.0
"""The base classes of elements: Source, Transform, TransformInplace and Sink."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import Error as CopyError
from copy import copy
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

from .._core.edges.edge import Access
from .._secrets import shown, without_secrets
from ..errors import ClosedError, ElementError
from . import _parameters
from ._contexts import Contexts
from ._media import FrameInfo, Media, patterns, same

if TYPE_CHECKING:
    from .._core.edges.context import Context
    from .._core.memory.frame import Frame

__all__ = ["Element", "Sink", "Source", "Transform", "TransformInplace", "refuse_unrun"]

# An object that is neither: what it stands for is `same()`.
_SAME = type(same())


def refuse_unrun(function: Callable[..., Any] | None, name: str, instead: str) -> None:
    """Refuse a function that would run nothing when an element calls it.

    Args:
        function: the function that the element calls for each frame.
        name: the name for it in the error.
        instead: advice on what to do in place of `yield`; "" if it may yield.

    Raises:
        TypeError: it is `async def`, or yields.
    """
    for one in (function, getattr(type(function), "__call__", None)):  # noqa: B004 - of an object
        if inspect.iscoroutinefunction(one) or inspect.isasyncgenfunction(one):
            raise TypeError(
                f"{name}() is `async def`, and a pipeline awaits none: write `def`. A program that "
                "uses asyncio takes the frames by `async for` over `await pipe.start_async()`"
            )
        if instead and inspect.isgeneratorfunction(one):
            raise TypeError(f"{name}() yields, and would never run: {instead}")


def _refuse_closed(message: str, *_: Any) -> NoReturn:
    raise ClosedError(message)


@typing.dataclass_transform(kw_only_default=False)
class Element:
    """One step of a pipeline; a subclass of one of the four kinds below.

    Annotated attributes of a subclass are its parameters, which its constructor takes by name or in
    their order, and checks:

        class Detect(el.Transform):
            model: Path
            device: Annotated[str, el.Doc("where the model runs")] = "CPU"
            takes = el.Image("NV12|I420", memory="openvino:{device}")
            gives = el.same()

    The constructor only stores them. Whatever costs time or holds resources is made in `open` and
    released in `close`, so that an element can be made, looked at and started again. An object can
    be an element of one pipeline only.

    Class attributes:
        name: the element's name in errors and tables; by default the name of its class.
        takes, gives: the frames that it takes and gives: patterns or tuples of patterns, best
            first.
        concurrent: several threads may call it at the same time, each for another frame.
        one_stream: it can take the frames of one source only, for instance because it writes them
            one after another; a pipeline with several sources is refused. A string advises what to
            do instead.
        live: of a source: frames come at their own time, and the next ones do not wait.
        may_copy: of an element that maps frames itself (`maps_to`): its user allowed it to copy.
            Make it a property if that depends on a parameter.

    Attributes:
        run_failed: in `close`: True if the run was ended by an exception of an element, or of the
            program in the pipeline's block, rather than by the end of its streams or by stop().
    """

    name: ClassVar[str] = ""
    takes: ClassVar[Any] = Media()
    gives: ClassVar[Any] = same()
    concurrent: ClassVar[bool] = False
    one_stream: ClassVar[bool | str] = False
    live: ClassVar[bool] = False
    may_copy: ClassVar[bool] = False
    # The name of the method that users implement, which raises ClosedError after close().
    _samebytes_work: ClassVar[str] = ""
    # Advice in place of its `yield`; "" if it yields frames.
    _samebytes_instead: ClassVar[str] = ""
    _declared: ClassVar[dict[str, _parameters.Parameter] | None] = None
    _in_use = False
    _contexts: Contexts | None = None
    run_failed = False

    def __init_subclass__(cls, **arguments: Any) -> None:
        super().__init_subclass__(**arguments)
        cls._declared = None
        if not cls.__dict__.get("name"):
            cls.name = cls.__name__
        work = cls._samebytes_work
        refuse_unrun(getattr(cls, work, None), f"{cls.__name__}.{work}", cls._samebytes_instead)

    def __init__(self, *values: Any, **named: Any) -> None:
        """Take the parameters.

        Raises:
            ParameterError: one is missing, unknown, given twice, of the wrong type or out of range.
        """
        known = self.declared_parameters()
        named = _parameters.by_name(self.name, known, values, named)
        for name, parameter in known.items():
            if name in named:
                setattr(self, name, named[name])
            elif parameter.required:
                raise _parameters.missing(self.name, parameter)
            else:
                # A list of its own: what one element adds is not another one's default.
                try:
                    vars(self)[name] = copy(parameter.default)
                except (TypeError, CopyError):  # a lock, a model: there is one
                    vars(self)[name] = parameter.default

    @classmethod
    def declared_parameters(cls) -> Mapping[str, _parameters.Parameter]:
        """The parameters by name, in the order of the constructor."""
        if cls._declared is None:
            cls._declared = _parameters.of_class(cls, Element)
        return MappingProxyType(cls._declared)

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters' values by name."""
        return {name: getattr(self, name) for name in self.declared_parameters()}

    @property
    def changed_parameters(self) -> dict[str, Any]:
        """The parameters' values that are not the defaults, by name, as errors show them."""
        known = self.declared_parameters()
        return {
            name: value
            for name, value in self.parameters.items()
            if not _parameters.equal(value, known[name].default)
        }

    def __setattr__(self, name: str, value: Any) -> None:
        declared = self._declared
        if declared is None:
            parameter = self.declared_parameters().get(name)
        else:  # as nearly always: elements count their frames in attributes
            parameter = declared.get(name)
        super().__setattr__(name, value if parameter is None else parameter.check(self.name, value))

    @property
    def _takes(self) -> tuple[Media, ...]:
        values = self.parameters
        return tuple(p.with_parameters(values) for p in patterns(self.takes, f"{self.name}.takes"))

    @property
    def _gives(self) -> tuple[Media, ...] | None:
        """None: the frame that it takes."""
        if isinstance(self.gives, _SAME):
            return None
        values = self.parameters
        return tuple(p.with_parameters(values) for p in patterns(self.gives, f"{self.name}.gives"))

    def maps_to(self, given: FrameInfo) -> str:
        """The memory type to which the element itself maps incoming frames; "" if it does not.

        Override it for an element that knows more ways than a route has: one that reads padded
        rows, say, or that chooses for each frame. Its `takes` names no memory then. The pipeline
        still plans the route to that memory type: it refuses frames for which there is none,
        takes its cost into account, and explains it. How a frame is mapped is up to the element.

        Args:
            given: the frames, as far as they are known.

        Returns:
            A memory type, such as "openvino:GPU".
        """
        return ""

    def copies(self, given: FrameInfo, frame: Frame[Any] | None) -> str:
        """A phrase for `explain()` about the copies that the element itself makes; "" if none.

        Override it for an element that copies, and counts it with `samebytes.plugins.count_copy`,
        if its user allowed it. Routes, including that to `maps_to`, report their own copies.

        Args:
            given: the frames, as far as they are known.
            frame: one of them as it comes; None before the first one.

        Returns:
            The words that follow "COPIES each frame": "into a slot of the ring".
        """
        return ""

    def converts(self, given: FrameInfo, frame: Frame[Any] | None) -> str:
        """A phrase for `explain()` about the conversions of the element; "" if none.

        Override it for an element that makes pictures of another format.

        Args:
            given: the frames, as far as they are known.
            frame: one of them as it comes; None before the first one.

        Returns:
            The words that follow "CONVERTS each frame": "to RGB 640x360, by libswscale".
        """
        return ""

    def pipeline_context(self, name: str, near: Context | None = None) -> Context:
        """The context of that name on which the pipeline has settled, to map frames to it.

        Use it in `negotiate`, in `open` and later. Outside a pipeline it is
        `samebytes.context(name)`.

        Args:
            name: a memory type, such as "openvino:GPU".
            near: the context of the frames that are to go there, as in the plan for `maps_to`: the
                result shares its handles if it can, even if another source's frames go elsewhere.

        Raises:
            UnknownNameError: no plugin declares it.
            AmbiguousTargetError: it has several devices; the name must include one.
        """
        return (Contexts() if self._contexts is None else self._contexts).find(name, near)

    def open(self, context: Context | None) -> None:
        """Load and allocate; called once before the first frame, after all early agreements.

        Args:
            context: the context of the frames that the element will get; for a source, the one
                in which the next element wants them. Models and memory for them belong there.
                None if it is not known before the first frame.
        """

    def close(self) -> None:
        """Release what `open` and `negotiate` made; also called after they failed."""

    def interrupt(self) -> None:
        """Make a waiting call return soon, since the pipeline stops. Called from another thread.

        It may be called before the call waits, and while `open` or `negotiate` waits: they must
        store whatever it is to end before they wait for it. While they run, it is called again and
        again.
        """

    def end_of_stream(self, stream: int) -> Iterable[Frame] | None:
        """The frames that the element kept back and still has to give when a stream has ended.

        Args:
            stream: the number of the stream.
        """
        return None

    def frames_kept(self) -> int:
        """The number of frames that it received and has kept back.

        It gives them later, in `process` or in `end_of_stream`. Override it for an element that
        keeps frames back, so that they are counted if they are lost: when `process` raises, and
        when the pipeline stops before the element gave them.
        """
        return 0

    def _set_open(self) -> None:
        vars(self).pop(self._samebytes_work, None)
        vars(self).pop("run_failed", None)

    def _set_closed(self) -> None:
        message = f"{self.name}.{self._samebytes_work}() was called after close()"
        vars(self)[self._samebytes_work] = partial(_refuse_closed, message)
        self._leave_pipeline()

    def _leave_pipeline(self) -> None:
        vars(self).pop("_contexts", None)
        vars(self).pop("wanted_access", None)
        vars(self).pop("wanted_formats", None)
        self._in_use = False

    def __repr__(self) -> str:
        parameters = without_secrets(self.parameters)
        values = ", ".join(f"{name}={shown(value, None)}" for name, value in parameters.items())
        return f"{type(self).__name__}({values})"

    def __deepcopy__(self, memo: Any) -> NoReturn:
        raise ElementError(self.name, "an element is part of one pipeline: make another one")


class Source(Element):
    """An element that brings frames into a pipeline.

    Class attributes:
        pool_size: the number of frames that can be in use at a time, if it is only known once the
            source is open: make it a property then. Other sources report it from `negotiate`, as
            `FrameInfo.pool`. None: no such limit.

    Attributes:
        wanted_access: the pipeline's access to the frames, set from `negotiate` on: "rw" if an
            element may write into them, else "r". The program's own access is not known.
        wanted_formats: those of the pixel formats that the source announces which all elements
            after it take, the cheapest first; set from `negotiate` on. Empty if there is none.
    """

    _samebytes_work: ClassVar[str] = "read"
    _samebytes_instead: ClassVar[str] = (
        "return one frame for each call, or decorate a generator function by @el.source"
    )
    gives: ClassVar[Any] = Media()
    pool_size: ClassVar[int | None] = None
    wanted_access: ClassVar[Access] = "r"
    wanted_formats: ClassVar[Sequence[str]] = ()

    def negotiate(self, wanted: FrameInfo | None) -> FrameInfo | None:
        """The description of the frames that the source will give.

        Called once before `open`: the place to read a file's header.

        Args:
            wanted: the frames that the next element takes, as far as the source offers them: of
                several formats and memory types the cheapest. None if the source announces none.

        Returns:
            The complete description; None if it is only known with the first frame.
        """
        return wanted

    def frames_expected(self) -> int | None:
        """The number of frames that it expects to give in all; None if it does not know.

        Called once, when the source is open. An estimate will do: it is for a display of progress.
        """
        return None

    def how(self) -> str:
        """A phrase for `explain` on the way in which the source makes its frames; "" for none.

        Override it if there was a choice, or if the way has a cost that the user can avoid. Called
        after `negotiate`.
        """
        return ""

    def read(self) -> Any:
        """The next frame, a samebytes.Frame or a native one; None at the end of the stream."""
        raise NotImplementedError(f"{type(self).__name__} must define read()")


class Transform(Element):
    """Takes a frame and gives none, one or several."""

    _samebytes_work: ClassVar[str] = "process"

    def negotiate(self, given: FrameInfo) -> FrameInfo:
        """The description of the frames that the element will give for frames like `given`.

        Called for each stream before its first frame, and again when its layout changes.

        Args:
            given: the frames that it will take: format, size and memory.

        Raises:
            ValueError: it cannot take them; the text gives the reason.
        """
        gives = self._gives
        if gives is None:
            return given
        return replace(gives[0].offers(given)[0], pool=None)

    def process(self, frame: Frame[Any]) -> Any:
        """Work on one frame, mapped as `takes` says.

        Args:
            frame: the element's own only during the call.

        Returns:
            A frame (a samebytes.Frame or a native one), an iterator of frames (`yield`), or None
            for no frame. If it returns the very frame that it was given, that goes on as it came.
        """
        raise NotImplementedError(f"{type(self).__name__} must define process()")


class TransformInplace(Transform):
    """Takes a frame and passes it on, changed or with metadata added."""

    _samebytes_instead: ClassVar[str] = (
        "leave `yield` out, as the frame goes on by itself; what gives frames of its own is a "
        "Transform (@el.transform)"
    )

    def process(self, frame: Frame[Any]) -> Any:
        """Work on one frame, mapped as `takes` says; False drops it, anything else passes it on."""
        raise NotImplementedError(f"{type(self).__name__} must define process()")


class Sink(Element):
    """Takes frames and passes them on, so that it may stand anywhere."""

    _samebytes_work: ClassVar[str] = "write"
    _samebytes_instead: ClassVar[str] = "leave `yield` out, as the frame goes on by itself"

    def negotiate(self, given: FrameInfo) -> FrameInfo:
        """Learn which frames will come; called as that of a Transform, but the result is not used.

        Args:
            given: the frames of one stream, as far as they are known.

        Returns:
            Anything: a sink gives no frames.
        """
        return given

    def write(self, frame: Frame[Any]) -> None:
        """Take one frame, mapped as `takes` says.

        Args:
            frame: the element's own only during the call.
        """
        raise NotImplementedError(f"{type(self).__name__} must define write()")
