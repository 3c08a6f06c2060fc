# SPDX-License-Identifier: Apache-2.0
"""Pipeline: the same list of elements, which runs as actors of a Ray cluster."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import ray

import samebytes as sb
import samebytes.elements as el
from samebytes.errors import SamebytesError

from ._cluster import check_resources
from ._conductor import END, Conductor
from ._frames import frame_of
from ._posts import Parcel, now
from ._stages import arrange

if TYPE_CHECKING:
    from typing import Self

__all__ = ["Pipeline", "Running"]

_ON_ERROR = ("stop", "drop")


class Pipeline:
    """Elements, one after another, each in a Ray actor.

        ray.init(address="auto")
        pipe = samebytes_ray.Pipeline(
            el.create("ffmpeg.source", "in.mp4"),
            samebytes_ray.Actor(detect, resources={"NPU": 1}),
            lambda frame: frame if frame.regions else None,
        )
        with pipe.start() as out:
            for frame in out: ...

    The source runs in this process, the driver. Planes go through Ray's object store: they are
    copied into it once, which is counted, and the actors of that node read them in place; Ray
    copies them once more to each other node that reads them. Frames in actors are read-only.

    Args:
        items: as for `samebytes.elements.Pipeline`, with one source. An element has an actor of its
            own; `Actor` puts several into one, and names the resources that its node must have. An
            element that writes into frames runs in the process of the element before it.
        copy: allow elements to copy frames when they must, for example before writing into one;
            each copy is counted.

    Raises:
        UnsupportedObjectError: an item is not an element, stands there twice, or is at the wrong
            place.
        NegotiationError: an element writes into frames that come out of the object store.
    """

    def __init__(self, *items: Any, copy: bool = False) -> None:
        self._stages = arrange(items, copy=copy)
        flat = [one for stage in self._stages for one in stage.items]
        el.Pipeline(*flat)  # it says what is wrong with the list

    def explain(self) -> str:
        """A description of the elements that run together, and the resources that they need."""
        first, *others = self._stages
        lines = [f"in this process: {first.name}"]
        for stage in others:
            wanted = ", ".join(f"{name}: {n:g}" for name, n in stage.resources.items())
            lines.append(f"an actor{f' on a node with {wanted}' if wanted else ''}: {stage.name}")
        return "\n".join(lines)

    def start(
        self,
        *,
        in_flight: int = 8,
        on_error: str = "stop",
        restarts: int = 3,
        timeout: float = 60.0,
    ) -> Running:
        """Start the actors, open the elements and begin.

        Args:
            in_flight: how many frames may be under way, from the source until they are taken. Those
                that an element keeps come on top.
            on_error: "stop", or "drop" to leave out frames for which an element raised.
            restarts: how often in a row the process of an actor may die. The next process has new
                elements, and gets the frames that the last one had not answered.
            timeout: seconds to wait until Ray has started an actor.

        Returns:
            The running pipeline, which gives the frames; a context manager, which stops it at the
            end of the block.

        Raises:
            ValueError: an argument is out of range.
            ClusterError: this process is not connected to a cluster, or the cluster lacks resources
                that an actor asks for.
            PlacementTimeoutError: the cluster has them, but they are in use.
            ElementError: an element cannot be pickled, or raised in open().
        """
        if in_flight < 1 or restarts < 0:
            raise ValueError(f"in_flight={in_flight}, restarts={restarts}: at least 1 and 0")
        if on_error not in _ON_ERROR:
            raise ValueError(f"on_error={on_error!r}: one of {', '.join(_ON_ERROR)}")
        actors = self._stages[1:]
        check_resources(actors)
        for stage in actors:
            stage.pickle()
        conductor = Conductor(
            self._stages, on_error=on_error, in_flight=in_flight, restarts=restarts, timeout=timeout
        )
        before = sb.stats().by_edge
        conductor.start()
        return Running(conductor, before)

    def run(self, **options: Any) -> el.Statistics:
        """Run to the end, without fetching the planes of the frames that come out.

        Args:
            options: as for `start`.

        Returns:
            The statistics of each element.
        """
        with self.start(**options) as running:
            while running.take() is not None:
                pass
        return running.statistics()

    def __repr__(self) -> str:
        return f"<Pipeline on Ray: {' -> '.join(stage.name for stage in self._stages)}>"


class Running(sb.Storage.Uncopied):
    """A pipeline that runs. Iterating gives the frames that come out, read-only, in their order.

    A frame lies in the object store of this node, where Ray copies it if it was on another one. The
    memory is free when its last holder is gone.

    It stops at the end of the block, at the end of the stream and when an element raises: frames
    that had gone past that element come out before the error. Then no actor of it is left.

    Attributes:
        stopped: True once it has stopped.
    """

    _instead = "start another one"

    def __init__(self, conductor: Conductor, before: Mapping[str, Any]) -> None:
        self._conductor = conductor
        self._before = before
        self._out = 0
        self._latencies: list[int] = []
        self.stopped = False

    def __iter__(self) -> Iterator[sb.Frame]:
        return self

    def __next__(self) -> sb.Frame:
        parcel = self.take()
        if parcel is None:
            raise StopIteration
        return frame_of(ray.get(parcel.planes)[parcel.index], parcel.description)

    def take(self) -> Parcel | None:
        """The next frame as it travels: references, without its planes. None at the end.

        For programs that pass frames on, or only count them: `number` is that of the source's frame
        from which it came.

        Raises:
            ElementError: an element raised.
            WorkerDiedError: a process died too often.
        """
        if self.stopped:
            return None
        try:
            found = self._conductor.next()
        except BaseException:  # Ctrl-C: there need not be a `with`
            self._stop(failed=True)
            raise
        if isinstance(found, Parcel):
            self._conductor.took(found)
            self._out += 1
            self._latencies.append(now() - found.read)
            return found
        self.stopped = True
        if found is not END:
            try:
                raise found
            finally:
                del found  # its traceback holds this call
        return None

    @property
    def restarts(self) -> int:
        """The number of times that a process was started again after it ended unexpectedly."""
        return sum(post.restarts for post in self._conductor.posts)

    def explain(self) -> str:
        """The process in which each element runs, and the agreements there."""
        return self._conductor.explain()

    def statistics(self) -> el.Statistics:
        """The statistics of each element so far; unknown for a process that ended unexpectedly."""
        rows, _ = self._conductor.statistics()
        times = sorted(self._latencies)

        def at(share: float) -> float:
            return times[min(int(share * len(times)), len(times) - 1)] / 1e6 if times else 0.0

        latency = el.Latency(self._out, at(0.5), at(0.95), at(0.99))
        return el.Statistics(rows, latency, self._conductor.lost)

    def copies(self) -> dict[str, tuple[int, int]]:
        """The copies that all processes of the pipeline made: their number and bytes, by edge.

        "cpu -> pickle" are those into the object store. Ray's copies from node to node are not
        among them. Those of this process are counted since the start.
        """
        _, found = self._conductor.statistics()
        for edge, count in sb.stats().by_edge.items():
            before = self._before.get(edge)
            copies = count.copies - (before.copies if before else 0)
            nbytes = count.nbytes - (before.nbytes if before else 0)
            if copies:
                others = found.get(edge, (0, 0))
                found[edge] = (others[0] + copies, others[1] + nbytes)
        return found

    def stop(self) -> None:
        """Stop now. Frames that are under way are lost, and counted.

        Raises:
            ElementError: an element does not return from a call.
        """
        self._stop(failed=False)

    def _stop(self, *, failed: bool) -> None:
        if self.stopped:
            return
        self.stopped = True
        self._conductor.stop(failed=failed)
        error = None
        while True:
            found = self._conductor.next()
            if not isinstance(found, Parcel):
                error = found if found is not END else None
                break
            self._conductor.lost += 1
        if error is not None and not failed:
            try:
                raise error
            finally:
                del error, found  # its traceback holds this call

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self.stop()
        else:
            with suppress(SamebytesError):  # the error that is on its way is what counts
                self._stop(failed=True)

    def __del__(self) -> None:
        if hasattr(self, "stopped"):
            with suppress(Exception):
                self.stop()
