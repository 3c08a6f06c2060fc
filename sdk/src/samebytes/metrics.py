# SPDX-License-Identifier: Apache-2.0
"""The statistics of running pipelines as metrics, through OpenTelemetry's API.

    from opentelemetry.exporter.prometheus import PrometheusMetricReader
    from opentelemetry.metrics import set_meter_provider
    from opentelemetry.sdk.metrics import MeterProvider

    set_meter_provider(MeterProvider([PrometheusMetricReader()]))
    with pipe.start() as out:
        samebytes.metrics.observe(out, "street")

The API comes with `samebytes[metrics]`. The program chooses where the metrics go: an SDK, and an
exporter to Prometheus or to a collector. They are only read when the exporter asks for them, so
they cost a frame nothing.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from ._core.owner.locks import Lock
from .errors import MissingDependencyError

if TYPE_CHECKING:
    from opentelemetry.metrics import MeterProvider, Observation

    from .elements import ElementStatistics, Running, Statistics

__all__ = ["observe"]

_OF_ELEMENTS = {
    "samebytes.frames_in": ("{frame}", "frames that an element took", "frames_in"),
    "samebytes.frames_out": ("{frame}", "frames that an element gave", "frames_out"),
    "samebytes.frames_dropped": ("{frame}", "frames left out, since a queue was full", "dropped"),
    "samebytes.frames_failed": ("{frame}", "frames for which an element raised", "errors"),
    "samebytes.frames_lost": ("{frame}", "frames under way when it stopped", "lost"),
    "samebytes.copied": ("By", "bytes copied for an element, with permission", "copied_bytes"),
    "samebytes.converted": ("By", "bytes that an element's conversions wrote", "converted_bytes"),
}
"""Counters: the unit, what they count, and the attribute of ElementStatistics."""


def observe(
    running: Running, pipeline: str, *, meter_provider: MeterProvider | None = None
) -> None:
    """Let the metrics of a running pipeline be read, for as long as something refers to it.

    Args:
        running: what `Pipeline.start` returned.
        pipeline: its name, the attribute `pipeline` of each metric. One that is observed later
            under the same name takes its place.
        meter_provider: of OpenTelemetry's SDK; None for the one that was set.

    Raises:
        MissingDependencyError: the package opentelemetry-api is not installed.
    """
    try:
        from opentelemetry import metrics
    except ImportError:
        raise MissingDependencyError(
            "metrics", "the package opentelemetry-api", 'pip install "samebytes[metrics]"'
        ) from None
    provider = metrics.get_meter_provider() if meter_provider is None else meter_provider
    with _making:
        observed = _observed.get(provider)
        if observed is None:
            observed = _observed[provider] = _Observed()
            observed.declare(provider, metrics.Observation)
    observed.runs[pipeline] = weakref.ref(running)


class _Observed:
    """The pipelines of one provider: an SDK takes each instrument only once.

    Attributes:
        runs: the running pipelines, by name.
    """

    def __init__(self) -> None:
        self.runs: dict[str, weakref.ref[Running]] = {}

    def declare(self, provider: MeterProvider, observation: type[Observation]) -> None:
        """Make the instruments."""
        from . import __version__

        meter = provider.get_meter("samebytes", __version__)

        def read(
            values: Callable[[Running], Iterable[tuple[float, dict[str, Any]]]],
        ) -> list[Callable[[Any], Iterable[Observation]]]:
            def observations(_: Any) -> Iterator[Observation]:
                for name, running in self._living():
                    for value, attributes in values(running):
                        yield observation(value, {"pipeline": name, **attributes})

            return [observations]

        for name, (unit, what, attribute) in _OF_ELEMENTS.items():
            meter.create_observable_counter(name, read(_counted(attribute)), unit, what)
        for name, unit, what, values in (
            ("samebytes.queue", "{frame}", "frames that wait for an element", _each("queue")),
            ("samebytes.frame_rate", "", "frames a second that an element took", _each("fps")),
            ("samebytes.call", "s", "time of a call of an element", _calls),
            ("samebytes.latency", "s", "time from the source to the end", _latency),
            ("samebytes.still", "s", "time since a frame moved", _still),
            ("samebytes.running", "", "1 while the pipeline runs, else 0", _runs),
        ):
            meter.create_observable_gauge(name, read(values), unit, what)

    def _living(self) -> Iterator[tuple[str, Running]]:
        for name, one in list(self.runs.items()):
            running = one()
            if running is None:
                self.runs.pop(name, None)
            else:
                yield name, running


_making = Lock()
_observed: weakref.WeakKeyDictionary[Any, _Observed] = weakref.WeakKeyDictionary()


def _each(attribute: str) -> Callable[[Running], Iterator[tuple[float, dict[str, Any]]]]:
    def values(running: Running) -> Iterator[tuple[float, dict[str, Any]]]:
        for row in running.statistics():
            yield getattr(row, attribute), {"element": row.element}

    return values


def _counted(attribute: str) -> Callable[[Running], Iterator[tuple[float, dict[str, Any]]]]:
    """As `_each`, but never less than before, which readers take for a counter that began again.

    It could be less: when a batch fails, its frames no longer count as taken.
    """
    seen: weakref.WeakKeyDictionary[Running, dict[str, float]] = weakref.WeakKeyDictionary()
    each = _each(attribute)

    def values(running: Running) -> Iterator[tuple[float, dict[str, Any]]]:
        highest = seen.setdefault(running, {})
        for value, attributes in each(running):
            element = attributes["element"]
            highest[element] = max(value, highest.get(element, 0))
            yield highest[element], attributes

    return values


def _quantiles(of: Any) -> Iterator[tuple[float, dict[str, Any]]]:
    for quantile in (50, 95, 99):
        yield getattr(of, f"p{quantile}") / 1e3, {"quantile": f"{quantile / 100:g}"}


def _calls(running: Running) -> Iterator[tuple[float, dict[str, Any]]]:
    rows: Statistics = running.statistics()
    row: ElementStatistics
    for row in rows:
        for value, attributes in _quantiles(row):
            yield value, {"element": row.element, **attributes}


def _latency(running: Running) -> Iterator[tuple[float, dict[str, Any]]]:
    return _quantiles(running.statistics().latency)


def _still(running: Running) -> Iterator[tuple[float, dict[str, Any]]]:
    yield running.seconds_still, {}


def _runs(running: Running) -> Iterator[tuple[float, dict[str, Any]]]:
    yield float(not running.stopped), {}
