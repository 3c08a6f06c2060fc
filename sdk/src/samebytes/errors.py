# SPDX-License-Identifier: Apache-2.0
"""Every error that samebytes raises, in one tree.

    SamebytesError
    ├── ClosedError (ValueError)            a tensor, frame, context or fd was used after close()
    ├── BusyError (BufferError)             a request, queue or context that is in use
    ├── AccessError (ValueError)            write access to read-only memory
    ├── LayoutError (ValueError)            shape, strides, dtype or size are not possible
    │   └── ExportError (BufferError)       ... found while handing out a DLPack capsule
    ├── MetadataError (ValueError)          invalid metadata; has `field`
    ├── NotHostVisibleError (BufferError)   the CPU cannot read this memory in place
    ├── UnsupportedObjectError (TypeError)  no plugin wraps an object of this type
    ├── UnknownNameError (LookupError)      no such format, memory type, handle ...; has `nearest`
    ├── DeviceMismatchError (ValueError)    two objects live on different devices
    ├── NativeError (RuntimeError)          a native call failed; has `call` and `code`
    ├── ElementError                    an element of a pipeline failed; has `element`, `pts`
    │   ├── ParameterError (ValueError)     a parameter has a value that it cannot have
    │   ├── NegotiationError                two elements cannot agree on frames; has `reasons`
    │   └── PoolTimeoutError (TimeoutError) no frame of a pool came back in time
    ├── RouteError
    │   ├── NoRouteError                    no route leads there; has `reasons`
    │   ├── CopyRequiredError               every route copies; has `edge`
    │   └── AmbiguousTargetError            the name fits several contexts; has `choices`
    └── PluginError                         has `plugin`
        ├── PluginLoadError                 its module cannot be imported or is not valid
        │   └── ImportInProgressError       a finalizer asks while its thread imports it
        ├── PluginConflictError             it repeats a name that another plugin holds
        ├── IncompatiblePluginError         it was made for another plugin API
        └── MissingDependencyError (ImportError)  a package or library it needs is missing

Attributes hold the details, and the message says what to do. PluginDeprecationWarning, a
DeprecationWarning, is for authors of plugins.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ._secrets import shown, without_secrets

__all__ = [
    "AccessError",
    "AmbiguousTargetError",
    "BusyError",
    "ClosedError",
    "CopyRequiredError",
    "DeviceMismatchError",
    "ElementError",
    "ExportError",
    "ImportInProgressError",
    "IncompatiblePluginError",
    "LayoutError",
    "MetadataError",
    "MissingDependencyError",
    "NativeError",
    "NegotiationError",
    "NoRouteError",
    "NotHostVisibleError",
    "ParameterError",
    "PluginConflictError",
    "PluginDeprecationWarning",
    "PluginError",
    "PluginLoadError",
    "PoolTimeoutError",
    "RouteError",
    "SamebytesError",
    "UnknownNameError",
    "UnsupportedObjectError",
]


class SamebytesError(Exception):
    """The root: `except SamebytesError` catches whatever samebytes raises.

    Passwords, tokens and keys are left out of its message and notes, and of the parameters and
    other texts in its attributes.
    """

    def __init__(self, *args: Any) -> None:
        # All of them together: one may be the name of a secret that the next one holds.
        super().__init__(*(without_secrets(args) if len(args) > 1 else map(without_secrets, args)))

    def add_note(self, note: str, /) -> None:
        """Add a line that tracebacks show after the message.

        Args:
            note: the line; passwords in it are left out.
        """
        super().add_note(without_secrets(note))

    def __reduce__(self) -> tuple[Any, ...]:
        # By default the message alone is passed to the constructor, which wants its parts: a
        # worker process that raised such an error would break its pool.
        return _again, (type(self), self.args, self.__dict__)


def _as_shown(reasons: Iterable[str]) -> tuple[str, ...]:
    """Texts of plugins without secrets, and with commands that work."""
    from ._plugins.installing import working  # it is not needed before something fails

    return tuple(working(reason) for reason in without_secrets(tuple(reasons)))


def _again(kind: type[SamebytesError], args: tuple[Any, ...], state: dict[str, Any]) -> Any:
    # OSError alone, whose subclasses a TimeoutError of ours is among, has memory that other
    # constructors of Python do not make, and leaves the arguments to __init__.
    maker: Any = OSError if issubclass(kind, OSError) else kind
    error = maker.__new__(kind, *args)
    error.args = args
    if isinstance(error, ImportError):
        ImportError.__init__(error, *args)  # its `msg` is kept elsewhere
    error.__dict__.update(state)
    return error


class ClosedError(SamebytesError, ValueError):
    """Something was used after its close()."""


class BusyError(SamebytesError, BufferError):
    """A call was refused as a whole, since the object is in use; nothing has changed."""


class AccessError(SamebytesError, ValueError):
    """Write access ("w" or "rw") was requested for read-only memory."""


class LayoutError(SamebytesError, ValueError):
    """A shape, stride, dtype, offset or size is invalid, or not possible for this memory."""


class ExportError(LayoutError, BufferError):
    """The layout cannot be expressed in a DLPack capsule. A BufferError, as consumers expect."""


class MetadataError(SamebytesError, ValueError):
    """Metadata of a frame holds an invalid value, or one that does not belong under its key.

    Attributes:
        field: the field that is wrong, for instance "Classification.confidence" or "objects[2].x".
    """

    def __init__(self, field: str, what: str) -> None:
        self.field = field
        super().__init__(f"{field} {what}")


class NotHostVisibleError(SamebytesError, BufferError):
    """The CPU cannot read this memory in place; map it to "cpu" first."""


class UnsupportedObjectError(SamebytesError, TypeError):
    """No installed plugin wraps an object of this type."""


class UnknownNameError(SamebytesError, LookupError):
    """A name that is not registered.

    Attributes:
        kind: what was looked up, for instance "image format".
        name: the name that was not found.
        nearest: known names that look like it, best first, or those that the word usually means.
    """

    def __init__(
        self,
        kind: str,
        name: str,
        known: Iterable[str],
        hint: str = "",
        *,
        nearest: Iterable[str] | None = None,
    ) -> None:
        """Make the error for a name that is not among `known`.

        Args:
            kind: what was looked up.
            name: the name that was not found.
            known: the names that could have been found.
            hint: further advice, added to the message.
            nearest: the names to suggest, if the caller knows better ones than those of similar
                spelling.
        """
        # Not through the root's __init__, which takes longer: some edges raise this for each frame.
        Exception.__init__(self, kind, name := without_secrets(name))
        self.kind = kind
        self.name = name
        self._known = tuple(known)
        self._hint = hint
        self._suggested = None if nearest is None else tuple(nearest)

    @property
    def nearest(self) -> tuple[str, ...]:
        """Known names that look like it, best first."""
        if self._suggested is not None:
            return self._suggested
        from difflib import get_close_matches  # as late as the text itself

        lower = {n.lower(): n for n in sorted(set(self._known), reverse=True)}
        close = get_close_matches(str(self.name).lower(), lower, n=3, cutoff=0.5)
        return tuple(lower[c] for c in close)

    # Made when it is shown: edges that ask for a handle and go on without it raise this for each
    # frame, and comparing names takes longer than mapping.
    def __str__(self) -> str:
        nearest, names = self.nearest, sorted(set(self._known))
        if nearest:
            advice = f"; did you mean {' or '.join(repr(n) for n in nearest)}?"
        elif names:
            advice = f"; known: {', '.join(names[:20])}{' ...' if len(names) > 20 else ''}"
        else:
            advice = ""
        hint = f" {self._hint}" if self._hint else ""
        return without_secrets(f"unknown {self.kind} {self.name!r}{advice}{hint}")


class DeviceMismatchError(SamebytesError, ValueError):
    """Two objects that should share memory live on different devices."""


class NativeError(SamebytesError, RuntimeError):
    """A call into a native library failed.

    Attributes:
        call: the function that failed.
        code: the code that it returned; 0 if it returns none.
    """

    def __init__(self, call: str, code: int, meaning: str = "") -> None:
        self.call = without_secrets(call)
        self.code = code
        failed = f"{call} failed with {code}" if code else f"{call} failed"
        super().__init__(f"{failed}{': ' + meaning if meaning else ''}")


class ElementError(SamebytesError):
    """An element of a pipeline failed. `__cause__` is what it raised, if it raised.

    Attributes:
        element: its name in the pipeline.
        stream: the number of the stream whose frame it had, or None.
        pts: the frame's presentation time in units of its time base, or None.
        parameters: those parameters of the element that differ from their defaults, by name.
    """

    def __init__(
        self,
        element: str,
        message: str,
        *,
        stream: int | None = None,
        pts: int | None = None,
        parameters: Mapping[str, Any] | None = None,
    ) -> None:
        self.element = element
        self.stream = stream
        self.pts = pts
        self.parameters = without_secrets(dict(parameters or {}))
        places = [f"stream {stream}"] if stream is not None else []
        places += [f"pts {pts}"] if pts is not None else []
        places += [f"{name}={shown(value)}" for name, value in self.parameters.items()]
        where = f" ({', '.join(places)})" if places else ""
        super().__init__(f"element {element!r}{where}: {message}")


class ParameterError(ElementError, ValueError):
    """A parameter of an element is unknown, missing, of the wrong type or out of range.

    Attributes:
        parameter: its name; "" if there are too many values.
        value: the value that was given; None if there was none.
        expected: the values that are accepted, in words.
    """

    def __init__(
        self, element: str, parameter: str, value: object, expected: str, *, says: str = ""
    ) -> None:
        """Make the error for a value, or with `says` for its message.

        Args:
            element: its name.
            parameter, value, expected: as the attributes.
            says: the message, if it is not about the value.
        """
        self.parameter = parameter
        self.value = without_secrets({parameter: value})[parameter]
        self.expected = expected
        what = says or f"parameter {parameter!r} must be {expected}, not {shown(self.value)}"
        super().__init__(element, what)


class NegotiationError(ElementError):
    """An element cannot take the frames of the one before, or gives others than it announced.

    Attributes:
        before: the name of the element before, or "".
        reasons: one line for each kind of frame that was tried.
    """

    def __init__(
        self,
        element: str,
        message: str,
        before: str = "",
        reasons: Sequence[str] = (),
        **place: Any,
    ) -> None:
        self.before = before
        self.reasons = _as_shown(reasons)
        lines = "".join(f"\n  - {reason}" for reason in self.reasons)
        super().__init__(element, f"{message}{lines}", **place)


class PoolTimeoutError(ElementError, TimeoutError):
    """All frames of a pool were in use, and none came back in time."""


class RouteError(SamebytesError):
    """A mapping that cannot be made.

    Attributes:
        source, target: the two ends, as names of nodes ("cpu", "openvino:GPU").
    """

    def __init__(self, message: str, source: str, target: str) -> None:
        self.source = source
        self.target = target
        super().__init__(message)


class NoRouteError(RouteError):
    """No route leads from source to target.

    Attributes:
        reasons: one line for each route that was tried and for each plugin that could not help.
    """

    def __init__(self, source: str, target: str, reasons: Sequence[str], what: str = "") -> None:
        self.reasons = _as_shown(reasons)
        lines = "".join(f"\n  - {r}" for r in self.reasons)
        super().__init__(f"no route from {source} to {target}{what}{lines}", source, target)


class CopyRequiredError(RouteError):
    """Every route there copies the bytes, and copy=True was not given.

    Attributes:
        edge: the copying edge of the cheapest route, "source -> target".
        reasons: one line for each route without a copy: why it cannot be taken.
    """

    def __init__(self, source: str, target: str, edge: str, reasons: Sequence[str] = ()) -> None:
        self.edge = edge
        self.reasons = _as_shown(reasons)
        lines = "".join(f"\n  - {r}" for r in self.reasons)
        super().__init__(
            f"the route from {source} to {target} needs a copy (edge {edge}); "
            f"pass copy=True to allow it: it is counted in stats(){lines}",
            source,
            target,
        )


class AmbiguousTargetError(RouteError):
    """The target's name fits more than one context.

    Attributes:
        choices: names that would be unambiguous.
    """

    def __init__(self, source: str, target: str, choices: Sequence[str]) -> None:
        self.choices = tuple(choices)
        super().__init__(
            f"target {target!r} is ambiguous from {source}: say one of {', '.join(self.choices)}, "
            "or pass a context",
            source,
            target,
        )


class PluginError(SamebytesError):
    """A plugin cannot be used. Others are not affected.

    Attributes:
        plugin: its entry-point name.
    """

    def __init__(self, plugin: str, message: str) -> None:
        self.plugin = plugin
        super().__init__(f"plugin {plugin!r}: {message}")


class PluginLoadError(PluginError):
    """The plugin's module cannot be imported, or what it declares is not valid."""


class ImportInProgressError(PluginLoadError):
    """The calling thread is importing the plugin, and a finalizer asks for it meanwhile.

    The plugin's module, or another one of its package, is only half imported; or the module itself
    uses samebytes. No harm is done: once the import has ended, the same call works.
    """


class PluginConflictError(PluginError):
    """The plugin declares a name that another plugin declared first."""


class IncompatiblePluginError(PluginError):
    """The plugin was made for another version of the plugin API.

    Attributes:
        declared, supported: (major, minor) each.
    """

    def __init__(self, plugin: str, declared: object, supported: tuple[int, int]) -> None:
        self.declared = declared
        self.supported = supported
        super().__init__(
            plugin,
            f"it declares plugin API {declared!r}, this samebytes has {supported}; "
            f"upgrade samebytes, or install a release of the plugin for API {supported[0]}.x",
        )


class MissingDependencyError(PluginError, ImportError):
    """A package or system library that the plugin needs is missing.

    Attributes:
        missing: the package or library.
        hint: a command that gets it, for instance 'pip install "samebytes[ffmpeg]"'.
    """

    def __init__(self, plugin: str, missing: str, hint: str) -> None:
        from ._plugins.installing import working  # nobody needs it before something is missing

        self.missing = missing
        self.hint = working(hint)
        super().__init__(plugin, f"{missing} is missing: {self.hint}")


class PluginDeprecationWarning(DeprecationWarning):
    """A plugin uses something that the next major version of the plugin API will not have.

    It works until then. `samebytes check-plugin` shows these warnings, and so does pytest.
    """
