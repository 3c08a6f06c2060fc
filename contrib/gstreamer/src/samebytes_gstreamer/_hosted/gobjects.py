# SPDX-License-Identifier: Apache-2.0
"""The GStreamer classes that registered elements derive from.

GStreamer calls their methods, and would take an exception for an answer, so none leaves them. Calls
of GStreamer's functions release the interpreter's lock, and no lock of Python's is held here.

To its base class, a transform just passes buffers through; otherwise the base class would silently
copy buffers that others hold. Buffers other than the one that came are pushed here.
"""

from __future__ import annotations

import atexit
import traceback
import weakref
from typing import Any, ClassVar

from samebytes.errors import ElementError
from samebytes.plugins import in_forked_child, without_secrets, without_secrets_in

from .._abi.gi import GLib, Gst, GstBase
from .._memory.allocation import pages
from .host import Host
from .properties import Values

__all__ = ["InPlace", "Making", "Writing"]

_OK = Gst.FlowReturn.OK
_DROPPED = Gst.FlowReturn.CUSTOM_SUCCESS
"""gst/base/gstbasetransform.h: GST_BASE_TRANSFORM_FLOW_DROPPED."""

_UP, _DOWN = Gst.StateChange.READY_TO_PAUSED, Gst.StateChange.PAUSED_TO_READY


def _set_up(self: Any, base: Any) -> None:
    base.__init__(self)
    made_of = self.made_of
    self.values = Values(made_of.name, made_of.declared_parameters())
    self.host = Host(made_of, self.values)
    _living.add(self)


def _change_state(self: Any, base: Any, transition: Any) -> Any:
    if transition == _UP:
        try:
            self.host.open(self)
        except BaseException as error:  # of users' code: Ctrl-C in open() as well
            post(self, error, "open()")
            _close(self)
            return Gst.StateChangeReturn.FAILURE
    elif transition == _DOWN:
        _interrupt(self)
    answer = base.do_change_state(self, transition)
    if transition == _DOWN or (
        transition == _UP and answer == Gst.StateChangeReturn.FAILURE
    ):  # now no thread of GStreamer's is in it
        _close(self)
    return answer


def _interrupt(self: Any) -> None:
    try:
        self.host.interrupt()
    except BaseException as error:
        post(self, error, "interrupt()")


def _close(self: Any) -> None:
    try:
        self.host.close()
    except BaseException as error:
        post(self, error, "close()")


def _ask_for_pages(self: Any, query: Any) -> None:
    """Ask the elements before for whole pages of CPU memory, which devices can share."""
    if self.on_devices:
        query.add_allocation_param(None, pages())


def _end(self: Any, pad: Any) -> bool:
    """End the stream at a pad, and return True if no error was raised."""
    try:
        self.host.end(pad)
    except BaseException as error:
        post(self, error, "end_of_stream()")
        return False
    return True


def _take(self: Any, buffer: Any, pad: Any) -> tuple[bool, int]:
    try:
        goes_on, answer = self.host.take(buffer, pad)
    except BaseException as error:
        post(self, error, "")
        return False, int(Gst.FlowReturn.ERROR)
    return goes_on, answer


def _agree(self: Any, caps: Any, out_caps: Any = None) -> bool:
    try:
        self.host.agree(caps, out_caps)
    except BaseException as error:
        post(self, error, "negotiate()")
        return False
    return True


class _Transform(GstBase.BaseTransform):  # type: ignore[misc]  # gi has no types
    made_of: ClassVar[Any] = None
    on_devices: ClassVar[bool] = False

    def __init__(self) -> None:
        _set_up(self, GstBase.BaseTransform)

    def do_set_property(self, spec: Any, value: Any) -> None:
        self.values.set(spec.name, value)

    def do_get_property(self, spec: Any) -> Any:
        return self.values.get(spec.name)

    def do_change_state(self, transition: Any) -> Any:
        return _change_state(self, GstBase.BaseTransform, transition)

    def do_sink_event(self, event: Any) -> Any:
        if event.type == Gst.EventType.EOS:
            _end(self, self.srcpad)
        elif event.type == Gst.EventType.TAG:
            self.host.note_tags(event.parse_tag())
        return GstBase.BaseTransform.do_sink_event(self, event)


class InPlace(_Transform):
    """A transform that gives the frames it takes."""

    def __init__(self) -> None:
        super().__init__()
        self.set_passthrough(True)

    def do_set_caps(self, caps: Any, out_caps: Any) -> bool:
        return _agree(self, caps)

    def do_propose_allocation(self, _: Any, query: Any) -> bool:
        # Later elements get the buffers, so they are asked as well.
        _ask_for_pages(self, query)
        return bool(self.srcpad.peer_query(query)) or self.on_devices

    def do_transform_ip(self, buffer: Any) -> Any:
        goes_on, answer = _take(self, buffer, self.srcpad)
        return _DROPPED if not goes_on and answer == int(_OK) else Gst.FlowReturn(answer)


class Making(_Transform):
    """A transform that gives other frames."""

    def do_transform_caps(self, direction: Any, caps: Any, filter_: Any) -> Any:
        found = self.taken if direction == Gst.PadDirection.SRC else self.given
        if direction == Gst.PadDirection.SINK and caps.is_fixed():
            try:
                found = self.host.caps_after(caps)
            except Exception:
                found = self.given  # agreeing on them fails in the same way, and says why
        return found.intersect_full(filter_, Gst.CapsIntersectMode.FIRST) if filter_ else found

    def do_set_caps(self, caps: Any, out_caps: Any) -> bool:
        return _agree(self, caps, out_caps)

    def do_propose_allocation(self, _: Any, query: Any) -> bool:
        _ask_for_pages(self, query)
        return True

    def do_prepare_output_buffer(self, buffer: Any) -> Any:
        _, answer = _take(self, buffer, self.srcpad)
        return (_DROPPED if answer == int(_OK) else Gst.FlowReturn(answer)), None

    def do_transform(self, buffer: Any, made: Any) -> Any:
        return _DROPPED  # nothing is made where it would be called


class Writing(GstBase.BaseSink):  # type: ignore[misc]  # gi has no types
    """A sink."""

    made_of: ClassVar[Any] = None
    on_devices: ClassVar[bool] = False

    def __init__(self) -> None:
        _set_up(self, GstBase.BaseSink)
        self.set_property("enable-last-sample", False)
        self.set_property("sync", False)

    def do_set_property(self, spec: Any, value: Any) -> None:
        self.values.set(spec.name, value)

    def do_get_property(self, spec: Any) -> Any:
        return self.values.get(spec.name)

    def do_change_state(self, transition: Any) -> Any:
        return _change_state(self, GstBase.BaseSink, transition)

    def do_set_caps(self, caps: Any) -> bool:
        return _agree(self, caps)

    def do_propose_allocation(self, query: Any) -> bool:
        _ask_for_pages(self, query)
        return True

    def do_unlock(self) -> bool:
        if _root(self).target_state < Gst.State.PAUSED:
            _interrupt(self)
        return True

    def do_render(self, buffer: Any) -> Any:
        return Gst.FlowReturn(_take(self, buffer, None)[1])

    def do_event(self, event: Any) -> Any:
        if event.type == Gst.EventType.EOS and not _end(self, None):
            return False
        if event.type == Gst.EventType.TAG:
            self.host.note_tags(event.parse_tag())
        return GstBase.BaseSink.do_event(self, event)


def post(element: Any, error: BaseException, call: str) -> None:
    """Put an error on the bus, with the traceback for developers."""
    text = str(without_secrets_in(error))
    if not isinstance(error, ElementError):
        raised = f"{call} raised {type(error).__name__}: {error}" if call else text
        text = str(ElementError(element.made_of.name, raised))
    debug = "".join(map(without_secrets, traceback.format_exception(error)))
    native = GLib.Error.new_literal(Gst.StreamError.quark(), text, int(Gst.StreamError.FAILED))
    element.post_message(Gst.Message.new_error(element, native, debug))


def _root(element: Any) -> Any:
    while (parent := element.get_parent()) is not None:
        element = parent
    return element


# A streaming thread must not call Python when the interpreter is gone. A forked child has none.
_living: weakref.WeakSet[Any] = weakref.WeakSet()
in_forked_child(_living.clear)


@atexit.register
def _stop_living() -> None:
    for element in list(_living):
        _root(element).set_state(Gst.State.NULL)
