# SPDX-License-Identifier: Apache-2.0
"""The thread that hands frames from stage to stage, and sees that each leaves once."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Sequence
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any, NamedTuple

import ray
import ray.exceptions

import samebytes.elements as el
from samebytes.errors import ElementError, SamebytesError
from samebytes.plugins import Lock, without_secrets_in

from ._errors import WorkerDiedError
from ._posts import Call, Parcel, Post, raised
from ._source import Feeder
from ._stages import Stage
from ._worker import Failure, Report

__all__ = ["END", "Conductor"]

END = object()
"""The item in the output after the last frame."""
_PATIENCE = 10.0
_LOOK = 0.2
"""Seconds between two checks for a signal."""


class _Answer(NamedTuple):
    post: Post
    generation: int
    call: Call
    future: Any


class _Stop(NamedTuple):
    failed: bool


class Conductor:
    """A running pipeline: its source, its actors, and the frames between them.

    It alone knows where a frame is. Each is a pair of references and numbers, whose objects the
    driver owns, whichever process made them. So frames that an actor had and did not answer are
    given to the next one, and those that it did answer are not.

    Args:
        stages: the driver's, then those of the actors.
        on_error, in_flight, restarts, timeout: as for `Pipeline.start`.
    """

    def __init__(
        self, stages: Sequence[Stage], *, on_error: str, in_flight: int, restarts: int,
        timeout: float,
    ) -> None:  # fmt: skip
        self._events: SimpleQueue[Any] = SimpleQueue()
        self.output: SimpleQueue[Any] = SimpleQueue()
        self._feeder = Feeder(stages[0], on_error, in_flight, self._events.put)
        tell = partial(_tell, self._events)  # not of this object, which has them
        self.posts = [Post(s, on_error, timeout, tell) for s in stages[1:]]
        self._restarts = restarts
        self._thread: threading.Thread | None = None  # before it ran it would refer to this object
        self._under_way: Counter[int] = Counter()
        self._roomy: set[int] = set()
        self._reports: dict[int, Report] = {}
        self._left = Lock()
        self._error: BaseException | None = None
        self._source_ended = False
        self._stopped: _Stop | None = None
        self.closed = False
        self.lost = 0

    def start(self) -> None:
        """Start the actors, open the elements from the source on, and begin.

        Raises:
            ClusterError: an actor could not be started.
            ElementError: an element raised. All are closed again.
        """
        try:
            for post in self.posts:
                post.hire()
            info = self._feeder.open()
            for post in self.posts:
                info = self._opened(post, info)
        except BaseException:
            self._close(failed=True)
            raise
        self._feeder.start()
        self._thread = threading.Thread(target=self._run, name="conductor", daemon=True)
        self._thread.start()

    def _opened(self, post: Post, info: el.FrameInfo | None) -> el.FrameInfo | None:
        try:
            return post.open(info)
        except ray.exceptions.RayActorError as error:
            raise _died(post, error) from without_secrets_in(error)

    def stop(self, *, failed: bool) -> None:
        """Stop now; frames that are under way are lost."""
        if self._thread is None or self._thread.ident is None:
            self._close(failed=failed)
            return
        self._events.put(_Stop(failed))
        self._thread.join()

    def next(self) -> Any:
        """Return the next item of the output, when it is there.

        `get()` without a time-out may miss a signal that comes just before it sleeps.
        """
        while True:
            try:
                return self.output.get(timeout=_LOOK)
            except Empty:
                continue

    def took(self, parcel: Parcel) -> None:
        """Note that a frame has left the pipeline."""
        self._leave(parcel)

    def explain(self) -> str:
        """A description of where everything runs."""
        lines = ["in this process:", *_indented(self._feeder.explain())]
        for post in self.posts:
            lines += [f"in {post.where}:", *_indented(post.explained)]
        return "\n".join(lines)

    def statistics(self) -> tuple[list[el.ElementStatistics], dict[str, tuple[int, int]]]:
        """The rows of all elements, and the copies of the actors by edge."""
        rows = list(self._feeder.statistics())
        copies: Counter[str] = Counter()
        nbytes: Counter[str] = Counter()
        for number, post in enumerate(self.posts):
            report = self._reports.get(number)
            if report is None and post.actor is not None and not self.closed:
                try:
                    report = ray.get(post.actor.report.remote(), timeout=_PATIENCE)
                except ray.exceptions.RayError as error:  # it dies just now, or is in a long call
                    error.__traceback__ = None  # as for _died()
            report = report or Report()
            rows += report.rows
            for edge, (count, size) in report.copies.items():
                copies[edge] += count
                nbytes[edge] += size
        return rows, {edge: (copies[edge], nbytes[edge]) for edge in copies}

    # What follows runs in the conductor's thread.

    def _run(self) -> None:
        try:
            while not self._is_done():
                self._handle(self._events.get())
        except BaseException as failure:
            self._error = self._error or failure
        stopped = self._stopped
        failed = self._error is not None or (stopped is not None and stopped.failed)
        try:
            self._close(failed=failed)
        except Exception as failure:
            self._error = self._error or failure
        # Its traceback will hold the call that raises it, and that the program's object.
        error, self._error = self._error, None
        try:
            self.output.put(END if error is None else error)
        finally:
            del error  # which may have been raised through this call

    def _is_done(self) -> bool:
        if self._stopped is not None:
            return True
        posts = self.posts
        if self._error is not None:  # what had gone past the element comes out
            return not any(post.waiting or post.asked for post in posts)
        return self._source_ended and all(post.ended for post in posts)

    def _handle(self, event: Any) -> None:
        if isinstance(event, _Stop):
            self._stopped = event
        elif isinstance(event, Parcel):
            if self._error is not None:
                self.lost += 1
                return
            self._enter([event])
            self._roomy.add(event.number)
            self._hand_on([event], 0)
        elif isinstance(event, _Answer):
            self._answer(event)
        else:  # of the source
            self._source_ended = True
            if isinstance(event, BaseException):
                self._fail(event, 0)
            self._starve(0)

    def _answer(self, event: _Answer) -> None:
        post, call = event.post, event.call
        if event.generation != post.generation or call not in post.asked:
            return  # of a process that is gone: the next one was asked the same
        error = event.future.exception()
        if isinstance(error, ray.exceptions.RayActorError):
            self._replace(post, error)
            return
        if error is not None:
            self._fail(ElementError(post.stage.last, f"Ray says: {error}"), post.stage.number)
            return
        call.answer = event.future.result()
        while post.asked and post.asked[0].answer is not None:
            self._settle(post, post.asked.popleft())
        if self._error is None or post.waiting:
            post.ask()

    def _settle(self, post: Post, call: Call) -> None:
        number = post.stage.number
        if isinstance(call.answer, Failure):
            self._fail(raised(call.answer, post.where), number)
            return
        done, made = post.take_answer(call)
        self._enter(made)
        self._hand_on(made, number)
        for parcel in done:
            self._leave(parcel)
        if call.parcel is not None and post.stage.keeps:
            self._make_room(call.parcel)
        if post.ended:
            self._starve(number)

    def _hand_on(self, parcels: Sequence[Parcel], number: int) -> None:
        """Pass frames that come out of a stage to the next one, or to the program."""
        if number < len(self.posts):
            post = self.posts[number]
            post.waiting.extend(parcels)
            post.ask()
            return
        for parcel in parcels:
            self.output.put(parcel)

    def _starve(self, number: int) -> None:
        if number < len(self.posts) and self._error is None:
            self.posts[number].starved = True
            self.posts[number].ask()

    def _enter(self, parcels: Sequence[Parcel]) -> None:
        with self._left:
            self._under_way.update(parcel.number for parcel in parcels)

    def _leave(self, parcel: Parcel) -> None:
        with self._left:  # who iterates calls it too
            self._under_way[parcel.number] -= 1
            gone = not self._under_way[parcel.number]
            if gone:
                del self._under_way[parcel.number]
        if gone:
            self._make_room(parcel)

    def _make_room(self, parcel: Parcel) -> None:
        """Let another frame be read, since this one has left, or an element keeps it."""
        with self._left:
            if parcel.number not in self._roomy:
                return
            self._roomy.discard(parcel.number)
        self._feeder.more()

    def _replace(self, post: Post, error: Any) -> None:
        while post.deaths < self._restarts:
            post.dismiss()
            try:
                post.replace()
            except ray.exceptions.RayActorError as again:
                error = again.with_traceback(None)  # as for _died()
            except SamebytesError as failure:
                self._fail(failure, post.stage.number)
                return
            else:
                return
        self._fail(_died(post, error), post.stage.number)

    def _fail(self, error: BaseException, number: int) -> None:
        """Note a stage's error: it and the stages before it stop, and nothing more is read."""
        self._error = self._error or error
        for post in self.posts[:number]:
            lost = [*post.waiting, *post.held.values(), *(c for c in post.asked if c.parcel)]
            self.lost += len(lost)
            post.waiting.clear()
            post.held.clear()
            post.asked.clear()

    def _close(self, *, failed: bool) -> None:
        """Close the open elements: the source, then those of all actors at the same time."""
        self._feeder.stop(failed=failed)
        while not self._events.empty():
            self.lost += isinstance(self._events.get(), Parcel)
        for post in self.posts:
            self.lost += len(post.waiting) + len(post.held)
            self.lost += sum(call.parcel is not None for call in post.asked)
        reports = [post.close(failed=failed) for post in self.posts]
        names = []
        for number, (post, report) in enumerate(zip(self.posts, reports, strict=True)):
            if report is not None:
                try:
                    self._reports[number] = ray.get(report, timeout=_PATIENCE)
                except ray.exceptions.GetTimeoutError:
                    names.append(post.stage.name)
                except ray.exceptions.RayError as error:  # it is dead: what it did is not known
                    error.__traceback__ = None  # as for _died()
            post.dismiss()
            post.forget()
        self.closed = True
        if names and not failed:
            raise ElementError(
                names[0], f"it does not return in {_PATIENCE:g} s, so its process was ended"
            )


def _tell(events: SimpleQueue[Any], *answer: Any) -> None:
    """Called in a thread of Ray's."""
    events.put(_Answer(*answer))


def _died(post: Post, error: Any) -> WorkerDiedError:
    error.__traceback__ = None  # ray.get() holds what it raises, which would hold its callers
    reason = next((line for line in str(error).splitlines() if line.strip()), "")
    return WorkerDiedError(
        post.stage.last,
        f"its process died; deaths in a row: {post.deaths + 1} (restarts={post.deaths}), the last: "
        f"{reason}",
    )


def _indented(text: str) -> list[str]:
    return [f"  {line}" for line in text.splitlines()]
