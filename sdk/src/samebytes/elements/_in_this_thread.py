# SPDX-License-Identifier: Apache-2.0
"""Running a pipeline in the caller's thread: debuggers, profilers and exceptions work as usual."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from .._core.memory.frame import Frame
from ..errors import ElementError
from ._channel import Stopped
from ._graph import Step
from ._run import Run

__all__ = ["frames_in_this_thread"]


def frames_in_this_thread(run: Run) -> Iterator[Frame]:
    """The frames that come out. The sources are read in turn, one frame each."""
    reading = deque(run.readers)
    try:
        while reading and not run.stopping:
            reader = reading.popleft()
            try:
                frame = reader.read()
            except ElementError as error:
                if not run.ends_stream(reader, error):
                    raise
                frame = None
            if frame is None:
                yield from _end(run, None, reader.stream)
            else:
                reading.append(reader)
                yield from _push(run, None, frame, reader.stream)
                del frame
    except Stopped:  # a wait for a frame of a pool
        return
    except ElementError:
        if not run.stopping:  # what ends a call is not a failure
            raise


# Not closures of frames_in_this_thread(): two closures that call each other form a cycle, and would
# keep the run, with all that its elements hold, until the garbage collector runs.


def _push(run: Run, step: Step | None, frame: Frame, stream: int) -> Iterator[Frame]:
    for stage in run.after(step):
        try:
            for of, given in stage.feed(frame, stream):
                yield from _push(run, stage.step, given, of)
        except ElementError:
            if not run.drops:
                raise
    if step is run.graph.last:
        run.arrivals.add(frame._origin[1])
        yield frame


def _end(run: Run, step: Step | None, stream: int) -> Iterator[Frame]:
    for stage in run.after(step):
        for of, given in stage.end(stream):
            yield from _push(run, stage.step, given, of)
        yield from _end(run, stage.step, stream)
