# SPDX-License-Identifier: Apache-2.0
"""An element of samebytes.elements at work inside a GStreamer element."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import samebytes as sb
import samebytes.elements as el
from samebytes import Access, Context
from samebytes.errors import (
    AccessError,
    ClosedError,
    ElementError,
    RouteError,
    SamebytesError,
)

from .._abi.gi import Gst
from .._buffers.frame import GStreamerFrame, frame_of
from .._metadata.meta import GStreamerMeta
from .._metadata.tags import orientation_in
from .._pipelines.outgoing import Outgoing
from .._pipelines.results_of_frames import said_of, with_results
from .agreeing import agreement, context_near, targets
from .buffers import lend, own_copy
from .caps import check_result, given_caps, info_of, patterns_of
from .properties import Values

__all__ = ["Host"]

_OK = int(Gst.FlowReturn.OK)


class Host:
    """One element, and what it agreed on with its neighbours.

    Args:
        made_of: the element's class.
        values: the values of its properties.
    """

    def __init__(self, made_of: type[el.Element], values: Values) -> None:
        self._class = made_of
        self._values = values
        self._element: el.Element | None = None
        self.copy = False
        self._caps: Any = None
        self._out_caps: Any = None
        self._taken: el.Media | None = None
        self._targets: list[Context] = []
        self._contexts: dict[str, Context] = {}
        self._missing: list[str] = []
        self._orientation: dict[str, Any] = {}

    @property
    def element(self) -> Any:
        """The element.

        Raises:
            ClosedError: it is not open.
        """
        if self._element is None:
            raise ClosedError(f"the element {self._class.name!r} is not open")
        return self._element

    def open(self, neighbour: Any) -> None:
        """Make the element with the current values of its properties, and open it.

        Args:
            neighbour: the Gst.Element, which knows the devices of those around it.

        Raises:
            ParameterError: a property has an invalid value, or was not set.
            Exception: whatever open() of the element raised.
        """
        element = self._element = self._class(**self._values.read())
        self.copy = self._values.copy
        for pattern in patterns_of(element, "takes") or ():
            for name in pattern.memories:
                try:
                    self._contexts[name] = context_near(neighbour, name)
                except SamebytesError as error:
                    self._missing.append(str(error))
        if self._missing and not self._contexts:
            raise ElementError(element.name, "; ".join(self._missing))
        element.open(next(iter(self._contexts.values()), None))

    def close(self) -> None:
        """Close the element; also after open() failed."""
        element, self._element = self._element, None
        self._caps = self._out_caps = self._taken = None
        for kept in (self._targets, self._contexts, self._missing, self._orientation):
            kept.clear()
        if element is not None:
            element.close()

    def interrupt(self) -> None:
        """Make a waiting call return."""
        element = self._element
        if element is not None:
            element.interrupt()

    def caps_after(self, caps: Any) -> Any:
        """The caps of the frames that the element makes from frames with these (fixed) caps.

        GStreamer may ask at any time, so another element with the same values is asked.

        Raises:
            NegotiationError, ParameterError, ValueError: it cannot take them.
        """
        element = self._class(**self._values.read())
        try:
            return given_caps(caps, agreement(element, info_of(caps))[1])
        finally:
            element.close()

    def agree(self, caps: Any, out_caps: Any = None) -> None:
        """Negotiate for frames with these caps, which will come.

        Args:
            caps: the caps of the frames that the element takes.
            out_caps: the caps of those that it gives; None if it gives the frames that it takes.

        Raises:
            NegotiationError, ValueError: it cannot take them.
        """
        self._taken, _ = agreement(self.element, info_of(caps))
        self._caps, self._out_caps = caps, out_caps
        self._targets.clear()

    def note_tags(self, tags: Any) -> None:
        """Note the tags of the stream whose frames come.

        Args:
            tags: a Gst.TagList. If it has no orientation, the one before holds.
        """
        found, text = tags.get_string("image-orientation")
        if found:
            self._orientation = orientation_in({"image-orientation": text})

    def take(self, buffer: Any, pad: Any) -> tuple[bool, int]:
        """Hand one buffer to the element, and push the buffers that it makes of it.

        Args:
            buffer: the Gst.Buffer.
            pad: the pad at which other buffers than this one are pushed; None for a sink.

        Returns:
            True if this very buffer goes on, and the number of a Gst.FlowReturn.

        Raises:
            Exception: whatever the element raised, and errors of mapping.
        """
        frame = frame_of(buffer, self._caps)
        frame.metadata.update(self._orientation)
        pts = frame.meta.pts
        try:
            answer, waiting = self._work(frame, pad)
        except ElementError:
            raise
        except Exception as error:
            raise self._failed(error, pts) from error
        del frame
        if waiting is None:
            return True, answer
        for one in waiting:
            if answer == _OK:
                answer = one.push(pad)
        return False, answer

    def _failed(self, error: Exception, pts: int | None = None) -> ElementError:
        element = self.element
        return ElementError(
            element.name, f"{type(error).__name__}: {error}", pts=pts,
            parameters=element.changed_parameters,
        )  # fmt: skip

    def _work(self, frame: GStreamerFrame, pad: Any) -> tuple[int, list[Outgoing] | None]:
        """Let the element work, and push the frames that it gives before the frame itself.

        Returns:
            The number of a Gst.FlowReturn for that, and the buffers still to be pushed; None for
            these if it is just the frame, and buffers go on in place.
        """
        element, taken, original = self.element, self._taken, frame
        assert taken is not None
        writes = taken.access != "r"
        if writes and frame.readonly:
            frame = self._copied(frame)
        before = said_of(frame)
        if isinstance(frame.meta, GStreamerMeta):
            frame.meta.said = before  # for a later call, if the element keeps it
        view = self._mapped(frame, taken.access)
        if isinstance(element, el.Sink):
            element.write(view)
            return _OK, None
        result = element.process(view)
        if isinstance(element, el.TransformInplace):
            result = None if result is False else view
        waiting: list[Outgoing | None] = []  # None: the frame itself, once nobody here maps it
        for given in _several(result):
            if given is view or given is frame:
                waiting.append(None)
                continue
            made = self._outgoing(given, frame)
            del given
            if waiting:
                waiting.append(made)
            elif (answer := made.push(pad)) != _OK:
                return answer, []
        del result
        if not waiting:
            return _OK, []
        if self._out_caps is not None:
            check_result(frame, self._out_caps)
        if writes and view is not frame:
            view.flush()
        del view
        other = with_results(frame, before)
        if other is None and frame is original and len(waiting) == 1 and self._out_caps is None:
            return _OK, None
        buffer = Outgoing.of(frame) if other is None else other
        if frame is not original:
            frame.close()  # a holder less, so that those after it may write
        return _OK, [buffer.again() if one is None else one for one in waiting]

    def _copied(self, frame: GStreamerFrame) -> GStreamerFrame:
        if not self.copy:
            raise AccessError(
                "the buffer cannot be written: somebody else holds it, such as the other branch of "
                "a tee, or its memory is read-only. Put the element before the tee, or set its "
                "property copy=true, which copies such buffers and counts it"
            )
        return own_copy(frame)

    def end(self, pad: Any) -> None:
        """Push the frames that the element kept back, since the stream has ended.

        Raises:
            ElementError: it raised.
        """
        if self._element is None or self._caps is None:
            return
        try:
            for given in self._element.end_of_stream(0) or ():
                if pad is not None:
                    self._outgoing(given, None).push(pad)
        except ElementError:
            raise
        except Exception as error:
            raise self._failed(error) from error

    def _outgoing(self, given: Any, like: GStreamerFrame | None) -> Outgoing:
        return lend(
            given, like, self._caps if self._out_caps is None else self._out_caps, copy=self.copy
        )

    def _mapped(self, frame: GStreamerFrame, access: Access) -> Any:
        assert self._taken is not None
        if not self._taken.memories:
            return frame
        if not self._targets:
            names = self._taken.memories
            self._targets = targets(names, frame, access, self._contexts, copy=self.copy)
        *others, last = self._targets
        for target in others:
            with suppress(RouteError):
                return frame.map(target, access, copy=self.copy)
        return frame.map(last, access, copy=self.copy)


def _several(result: Any) -> Iterator[Any]:
    if isinstance(result, Iterator | list | tuple) and not isinstance(result, sb.Frame):
        yield from result
    elif result is not None:
        yield result
