# SPDX-License-Identifier: Apache-2.0
"""Elements and pipelines: sources, transforms and sinks over mapped memory.

    import samebytes.elements as el

    @el.inplace(takes=el.Image("NV12|I420", memory="cpu", access="rw"))
    def blur(frame, *, radius: Annotated[int, el.Range(1, 31)] = 5): ...

    pipe = el.Pipeline(el.create("ffmpeg.source", url), blur(radius=7), Detect(model=path))
    print(pipe.explain())
    with pipe.start() as out:
        for frame in out: ...

A pipeline is a list. Each element says what it takes and gives; the pipeline finds the routes
between them, once, and maps every frame along these. Nothing is copied unless `copy=True` allows
it.
"""

from samebytes.elements._conversion import Choices, Range
from samebytes.elements._copying import own_copy
from samebytes.elements._create import available, create, element_class
from samebytes.elements._element import Element, Sink, Source, Transform, TransformInplace
from samebytes.elements._functions import inplace, sink, source, transform
from samebytes.elements._media import Audio, FrameInfo, Image, Media, Tensors, same
from samebytes.elements._parameters import Doc, Parameter
from samebytes.elements._per_stream import StreamName, stream_of
from samebytes.elements._pipeline import Pipeline
from samebytes.elements._pool import FramePool
from samebytes.elements._progress import Progress
from samebytes.elements._running import Running
from samebytes.elements._statistics import ElementStatistics, Latency, Statistics
from samebytes.elements._timeline import Timeline
from samebytes.elements._watch import Clock

from .._log import logger
from .._seldom import Seldom

__all__ = [
    "Audio",
    "Choices",
    "Clock",
    "Doc",
    "Element",
    "ElementStatistics",
    "FrameInfo",
    "FramePool",
    "Image",
    "Latency",
    "Media",
    "Parameter",
    "Pipeline",
    "Progress",
    "Range",
    "Running",
    "Seldom",
    "Sink",
    "Source",
    "Statistics",
    "StreamName",
    "Tensors",
    "Timeline",
    "Transform",
    "TransformInplace",
    "available",
    "create",
    "element_class",
    "inplace",
    "logger",
    "own_copy",
    "same",
    "sink",
    "source",
    "stream_of",
    "transform",
]
