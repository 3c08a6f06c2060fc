# SPDX-License-Identifier: Apache-2.0
"""ffmpeg.source: the frames of a video file or connection."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Annotated, Any

import av
from av import error as kinds

from samebytes.elements import Clock, Doc, FrameInfo, Image, Range, Seldom, Source, Timeline, logger
from samebytes.errors import ElementError, NativeError, ParameterError
from samebytes.plugins import Aside, without_secrets_in

from .._codec_options import warn_of_unknown
from ._choosing import Hwaccel, choice, offered
from ._connection import Connection
from ._decoders import Decoding, NoHardwareError, SoftwareDecoding
from ._failures import ARGUMENT_ERROR, while_reading
from ._files_in_use import file_name
from ._input import Input, Waking, place
from ._lists import list_format, segment_seconds

__all__ = ["FFmpegSource"]

_log = logger("ffmpeg")

_LONGEST = 30.0
"""Seconds between two attempts to connect, at most."""
_LOOK = 0.2
"""Seconds between two checks for a signal, which may have gone to another thread."""

_NAP = 0.002
"""Seconds between two checks for a surface that came back, which nothing announces."""

_LASTING = (
    kinds.HTTPUnauthorizedError, kinds.HTTPForbiddenError, kinds.HTTPNotFoundError,
    kinds.ProtocolNotFoundError, kinds.DemuxerNotFoundError, kinds.DecoderNotFoundError,
    kinds.OptionNotFoundError, kinds.FileNotFoundError, ARGUMENT_ERROR,
)  # fmt: skip
"""Errors of the first connection after which no attempt can help, since the address is wrong."""

_OF_A_RUN = ("_input", "_decoding", "_timeline", "_seldom", "_queue", "_stops", "_patience")
"""Attributes that its pickles leave out."""


class FFmpegSource(Source):
    """Decodes a video file or connection, in the decoder's own memory.

    `pts` and `time_base` of the frames are those of the file. The decoder ends with the stream, so
    that the last frames can be written to.

    A live source connects again when the connection breaks or ends: up to `reconnect` times in a
    row, after pauses that double. What cannot be decoded, as in the middle of a group of pictures,
    is left out. Times go on where they were, even if the clock of a stream steps back.

    Raises:
        ElementError: it cannot be opened, has no such stream, or is damaged; or a live source could
            not be reached again.
    """

    name = "ffmpeg.source"

    url: Annotated[Path | str, Doc("a file, or what FFmpeg opens: rtsp://..., tcp://...")]
    stream: Annotated[int, Range(0), Doc("which of its video streams, from 0")] = 0
    threads: Annotated[int, Range(0, 64), Doc("of the decoder; 0 for as many as it likes")] = 0
    start: Annotated[float, Range(0, 10**9), Doc("seconds after the beginning")] = 0.0
    frames: Annotated[int | None, Range(1), Doc("how many at most; None for all")] = None
    loop: Annotated[bool, Doc("begin again at the end; times go on")] = False
    live: Annotated[  # type: ignore[misc]  # of each element, not of the class
        bool, Doc("frames arrive at their own pace, and the connection is made again")
    ] = False
    reconnect: Annotated[int, Range(0), Doc("attempts in a row of a live source")] = 5
    pause: Annotated[float, Range(0, 30), Doc("seconds before the first of them")] = 0.5
    timeout: Annotated[
        float, Range(0.1, 600), Doc("seconds without data until a connection counts as broken")
    ] = 5.0
    options: Annotated[Mapping[str, str] | None, Doc("FFmpeg's, of container and decoder")] = None
    hwaccel: Annotated[
        Hwaccel | None, Doc('decode on a device; "auto": where the next elements want it')
    ] = None
    device: Annotated[int, Range(0), Doc("which GPU decodes")] = 0
    unsafe_output: Annotated[
        bool, Doc("of CUDA: give the decoder's own surfaces, without a copy of each")
    ] = False
    extra_hw_frames: Annotated[
        int, Range(0, 64), Doc("of a device: frames that may be kept beside those it needs")
    ] = 8

    def __init__(self, *values: Any, **named: Any) -> None:
        super().__init__(*values, **named)
        self._set_idle()

    def _set_idle(self) -> None:
        self._input: Input | Connection | None = None
        self._decoding: Decoding | None = None
        self._patience = 0.0  # seconds without data until its connection counts as broken
        self._timeline = Timeline()
        self._seldom = Seldom()
        self._queue: Any = None
        self._given = 0
        self._ended = False
        self._stopping = False
        self._stops: SimpleQueue[None] = SimpleQueue()

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in _OF_A_RUN}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._set_idle()
        vars(self).update(state)

    @property
    def gives(self) -> Image:
        """Images in the decoder's memory: FFmpeg's, or that of a device."""
        return offered(self.hwaccel)

    def work_on(self, queue: Any) -> None:
        """Let FFmpeg work on a stream of the caller's. Call it before the source is opened.

        Args:
            queue: a stream of CUDA; see `open`. None for one of its own.

        Raises:
            ParameterError: it does not decode by CUDA.
        """
        if queue is not None and self.hwaccel != "cuda":
            raise ParameterError(
                self.name, "queue", queue, "a stream of CUDA",
                says='queue= is a stream of CUDA: pass hwaccel="cuda" too',
            )  # fmt: skip
        self._queue = queue

    def how(self) -> str:
        """The way in which it is decoded; "" unless a device was asked for."""
        return "" if self._decoding is None else self._decoding.how

    def negotiate(self, wanted: FrameInfo | None) -> FrameInfo | None:
        """Open it, and return the properties in its header.

        Raises:
            ElementError: it cannot be opened, or not by that device.
        """
        self._decoding = self._chosen(wanted)
        self._stopping, self._stops = False, SimpleQueue()
        self._timeline, self._given, self._ended = Timeline(live=self.live), 0, False
        return self._connected().info()

    def frames_expected(self) -> int | None:
        """The number of frames in the file as far as its header has it, or `frames` if less."""
        source = None if self.live or self.loop else self._input
        known = None if source is None else source.frames()
        return min((n for n in (known, self.frames) if n is not None), default=None)

    def read(self) -> av.VideoFrame | None:
        """The next frame, with its own time."""
        # All that is done for each frame is in one function: each further one costs microseconds,
        # since the decoder empties the processor's caches meanwhile.
        attempts, empty = 0, False
        while not (self._ended or self._stopping or self._given == self.frames):
            failed: Exception | None = None
            decoding = self._decoding
            if decoding is not None and decoding.limit is not None and not self._has_room():
                break
            try:
                source = self._input or self._open()
                frame = source.read()
                if frame is not None:
                    place(frame, self._timeline, source.length)
                    if attempts:
                        self._say_connected(attempts)
                    if self.frames is not None:
                        self._given += 1
                    return frame
            except Aside.GivenUpError:
                break
            except NoHardwareError as error:
                raise self._failure(str(error)) from error
            except (av.FFmpegError, OSError, ElementError, NativeError) as error:
                failed = without_secrets_in(error)
            if self._stopping:
                break
            self._let_go()
            self._timeline.begin_again()
            if not self.live:
                if failed is not None:
                    raise self._error(failed) from failed
                if not self.loop or empty:
                    break
                empty = True  # if the next pass has no frame either, no pass will
                continue
            if not self.reconnect:
                if failed is not None:
                    raise self._error(failed) from failed
                break
            if attempts == self.reconnect:
                raise self._failure(
                    f"{attempts} attempts to connect again failed, the last one: "
                    f"{self._words(failed)}"
                ) from failed
            if self._stopped_within(self._pause_before(attempts, failed)):
                break
            attempts += 1
        self._ended = True
        self._let_go()
        return None

    def interrupt(self) -> None:
        """End a read that waits for data, or for the next attempt."""
        self._stopping = True
        self._stops.put(None)
        source = self._input
        if isinstance(source, Connection):
            source.wake()

    def close(self) -> None:
        """Close the file and the decoder."""
        super().close()
        self._let_go()

    def _connected(self) -> Input | Connection:
        """Open it for the first time; a live source tries again if that may help."""
        warn_of_unknown(self.name, self.options or ())
        attempts = 0
        while True:
            try:
                opened = self._open()
                if attempts:
                    self._say_connected(attempts)
                return opened
            except ElementError as error:
                self._let_go()
                lasting = error.__cause__ is None or isinstance(error.__cause__, _LASTING)
                if not self.live or not self.reconnect or lasting:
                    raise
                if attempts == self.reconnect:
                    raise self._failure(
                        f"{attempts + 1} attempts to connect failed, the last one: "
                        f"{self._words(error)}"
                    ) from error
                pause = self._pause_before(attempts, error)
            if self._stopped_within(pause):
                raise Aside.GivenUpError
            attempts += 1

    def _pause_before(self, attempts: int, failed: Exception | None) -> float:
        """The seconds to wait before the next attempt, which the log announces.

        Args:
            attempts: how many there were.
            failed: why another one is needed; None if the connection ended.
        """
        pause: float = min(self.pause * 2**attempts, _LONGEST)
        if (more := self._seldom.may("away")) is not None:
            why = "it ended" if failed is None else self._words(failed)
            _log.warning(
                "%s: no connection to %s: %s; attempt %d of %d follows in %.1f s%s",
                self.name, str(self.url), why, attempts + 1, self.reconnect, pause, more,
            )  # fmt: skip
        return pause

    def _say_connected(self, attempts: int) -> None:
        if (more := self._seldom.may("back")) is not None:
            tries = f"{attempts} attempt{'' if attempts == 1 else 's'}"
            _log.info("%s: connected after %s%s", self.name, tries, more)

    def _stopped_within(self, seconds: float) -> bool:
        """Wait; True if interrupt() was called."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            with suppress(Empty):
                self._stops.get(timeout=min(left, _LOOK))
                return True
        return self._stopping

    def _error(self, failed: Exception) -> ElementError:
        if isinstance(failed, ElementError):
            return failed
        return self._failure(f"FFmpeg cannot decode it: {self._words(failed)}")

    def _words(self, failed: Exception | None) -> str:
        if failed is None:
            return "it ended at once"
        if isinstance(failed, ElementError):
            return str(failed).removeprefix(str(self._failure("")))  # which stands before all
        return while_reading(failed, self._patience)

    def _failure(self, text: str) -> ElementError:
        return ElementError(self.name, text, parameters=self.changed_parameters)

    def _open(self) -> Input | Connection:
        path = Path(file_name(str(self.url)))
        if not self.live and path.is_file() and not list_format(path):
            self._input = self._opened(None)
            return self._input
        self._patience = self.timeout + segment_seconds(str(self.url), path)
        connection = self._input = Connection(self.name, self._patience, self._opened)
        if self._stopping:  # interrupt() had none to wake
            connection.wake()
        connection.open()
        return connection

    def _opened(self, waking: Waking | None) -> Input:
        if self._decoding is None:
            self._decoding = self._chosen(None)
        try:
            return self._opened_by(self._decoding, waking)
        except NoHardwareError as error:
            if self.hwaccel != "auto":
                raise self._failure(f"{error}: leave hwaccel out, or choose auto") from error
            self._decoding = SoftwareDecoding(str(error))
            return self._opened_by(self._decoding, waking)

    def _chosen(self, wanted: FrameInfo | None) -> Decoding:
        try:
            return choice(
                self.hwaccel,
                wanted,
                self.device,
                self._queue,
                unsafe_output=self.unsafe_output,
                extra_hw_frames=self.extra_hw_frames,
            )
        except NoHardwareError as error:
            raise self._failure(str(error)) from error

    def _has_room(self) -> bool:
        """True once the decoder has a surface for the next frame; False after interrupt().

        Raises:
            PoolTimeoutError: the program keeps all of them.
        """
        decoding = self._decoding
        limit = None if decoding is None else decoding.limit
        if decoding is None or limit is None:
            return True
        clock = None
        while decoding.held() >= limit:
            clock = clock or Clock(self.timeout)
            if clock.is_over():
                raise clock.pool_error(self.name, decoding.held())
            with suppress(Empty):
                self._stops.get(timeout=_NAP)
            if self._stopping:
                return False
        return True

    def _opened_by(self, decoding: Decoding, waking: Waking | None) -> Input:
        found = Input(
            self._failure,
            str(self.url),
            number=self.stream,
            threads=self.threads,
            start=self.start,
            waking=waking,
            lenient=self.live,
            options=self.options or {},
            decoding=decoding,
        )
        try:
            found.prime()
        except BaseException as error:
            found.close()
            if isinstance(error, av.FFmpegError | NativeError):
                raise self._error(without_secrets_in(error)) from error
            raise
        return found

    def _let_go(self) -> None:
        source, self._input = self._input, None
        if source is not None:
            source.close()
