# SPDX-License-Identifier: Apache-2.0
"""Running a pipeline in the caller's thread: debuggers, profilers and exceptions work as usual."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from .._core.frame import Frame
from ..errors import ElementError
from ._channel import Stopped
from ._graph import Step
from ._run import Run

__all__ = ["frames_here"]


def frames_here(run: Run) -> Iterator[Frame]:
    """The frames that come out. The sources are read in turn, one frame each."""
    last = run.graph.last

    def push(step: Step | None, frame: Frame, stream: int) -> Iterator[Frame]:
        for stage in run.after(step):
            try:
                for of, given in stage.feed(frame, stream):
                    yield from push(stage.step, given, of)
            except ElementError:
                if not run.drops:
                    raise
        if step is last:
            run.arrived(frame)
            yield frame

    def end(step: Step | None, stream: int) -> Iterator[Frame]:
        for stage in run.after(step):
            for of, given in stage.end(stream):
                yield from push(stage.step, given, of)
            yield from end(stage.step, stream)

    reading = deque(run.readers)
    try:
        while reading and not run.stopping:
            reader = reading.popleft()
            frame = reader.read()
            if frame is None:
                yield from end(None, reader.stream)
            else:
                reading.append(reader)
                yield from push(None, frame, reader.stream)
                del frame
    except Stopped:  # a wait for a frame of a pool
        return
