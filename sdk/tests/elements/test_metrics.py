# SPDX-License-Identifier: Apache-2.0
"""The metrics of pipelines, through OpenTelemetry's real SDK and its exporter for Prometheus."""

import gc
import sys
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest

import samebytes.elements as el
from samebytes.errors import MissingDependencyError
from samebytes.metrics import observe

from .pictures import Collect, add, numbers


@pytest.fixture
def reader() -> Iterator[Any]:
    """A reader of the SDK, and the provider that has it."""
    export: Any = pytest.importorskip(
        "opentelemetry.sdk.metrics.export",
        reason="missing package opentelemetry-sdk: python3 dev.py setup",
    )
    from opentelemetry.sdk.metrics import MeterProvider

    made = export.InMemoryMetricReader()
    provider = MeterProvider([made])
    yield made, provider
    provider.shutdown()


def points(reader: Any) -> dict[str, dict[tuple[str, ...], float]]:
    """The values by metric, and by the values of their attributes."""
    data = reader.get_metrics_data()
    if data is None:
        return {}
    (resource,) = data.resource_metrics
    (scope,) = resource.scope_metrics
    return {
        metric.name: {
            tuple(point.attributes[k] for k in sorted(point.attributes)): point.value
            for point in metric.data.data_points
        }
        for metric in scope.metrics
    }


def test_counts_and_times(reader: Any) -> None:
    export, provider = reader
    with el.Pipeline(numbers(count=3), add()).start(threads=0) as out:
        observe(out, "street", meter_provider=provider)
        next(out)
        found = points(export)
        assert found["samebytes.frames_in"] == {("numbers", "street"): 1, ("add", "street"): 1}
        assert found["samebytes.running"] == {("street",): 1.0}
        assert 0 <= found["samebytes.still"]["street",] < 600
        assert found["samebytes.call"]["add", "street", "0.5"] > 0
        assert list(out)
    found = points(export)
    assert found["samebytes.frames_out"]["add", "street"] == 3
    assert found["samebytes.running"] == {("street",): 0.0}
    assert found["samebytes.latency"]["street", "0.99"] > 0


def test_a_counter_does_not_fall_where_a_batch_fails(reader: Any) -> None:
    export, provider = reader

    class FailsLater(el.Transform):
        kept = 0

        def process(self, picture: Any) -> None:
            self.kept += 1
            if self.kept == 3:
                self.kept = 0
                raise ValueError("of all three")

        def frames_kept(self) -> int:
            return self.kept

    element, found = FailsLater(), []

    def look(picture: Any) -> Any:
        found.append(points(export)["samebytes.frames_in"]["FailsLater", "street"])
        return picture

    with el.Pipeline(numbers(count=5), look, element).start(threads=0, on_error="drop") as out:
        observe(out, "street", meter_provider=provider)
        assert not list(out)
        row = out.statistics().of("FailsLater")
    assert (row.frames_in, row.errors) == (2, 3)
    assert found == [0, 1, 2, 2, 2]


def test_several_pipelines_and_one_that_is_started_again(
    reader: Any, caplog: pytest.LogCaptureFixture
) -> None:
    export, provider = reader
    pipe = el.Pipeline(numbers(count=2), Collect())
    other = el.Pipeline(numbers(count=1)).start(threads=0)
    observe(other, "other", meter_provider=provider)
    for _ in range(2):
        with pipe.start(threads=0) as out:
            observe(out, "street", meter_provider=provider)
            next(out)
        taken = points(export)["samebytes.frames_in"]
        assert taken == {
            ("numbers", "street"): 1, ("Collect", "street"): 1, ("numbers", "other"): 0,
        }  # fmt: skip
    other.stop()
    assert not caplog.records  # an SDK complains of an instrument that is made twice


def test_what_nobody_holds_is_not_observed(reader: Any) -> None:
    export, provider = reader
    running = el.Pipeline(numbers(count=1)).start(threads=0)
    observe(running, "street", meter_provider=provider)
    running.stop()
    del running
    gc.collect()
    assert "samebytes.running" not in points(export)


def test_prometheus_reads_them_from_the_exporter() -> None:
    exporter: Any = pytest.importorskip(
        "opentelemetry.exporter.prometheus",
        reason="missing package opentelemetry-exporter-prometheus: python3 dev.py setup",
    )
    import prometheus_client
    from opentelemetry.sdk.metrics import MeterProvider

    provider = MeterProvider([exporter.PrometheusMetricReader()])
    server, thread = prometheus_client.start_http_server(0, "127.0.0.1")
    try:
        with el.Pipeline(numbers(count=3), add()).start(threads=0) as out:
            observe(out, "street", meter_provider=provider)
            assert len(list(out)) == 3
            url = f"http://127.0.0.1:{server.server_port}/metrics"
            with urllib.request.urlopen(url, timeout=30) as answer:
                lines = answer.read().decode().splitlines()
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
        provider.shutdown()
    values = {line.rpartition(" ")[0]: line.rpartition(" ")[2] for line in lines}
    names = {name.partition("{")[0] for name in values}
    assert {"samebytes_frames_in_total", "samebytes_copied_bytes_total", "samebytes_queue",
            "samebytes_latency_seconds", "samebytes_still_seconds"} <= names  # fmt: skip
    (taken,) = [
        value
        for name, value in values.items()
        if name.startswith("samebytes_frames_in_total{") and 'element="add"' in name
    ]
    assert float(taken) == 3
    assert any('pipeline="street"' in name for name in values)


def test_without_the_api_the_error_says_what_brings_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    with (
        el.Pipeline(numbers(count=1)).start(threads=0) as out,
        pytest.raises(
            MissingDependencyError,
            match=r"opentelemetry-api is missing: pip install .*\b(api|metrics)\b",
        ),
    ):
        observe(out, "street")


def test_still_grows_until_a_frame_moves() -> None:
    with el.Pipeline(numbers(count=2)).start(threads=0) as out:
        before, later = out.seconds_still, out.seconds_still
        assert 0 < before < later
        watch = out._run.watch
        watch._began -= 10**12
        assert out.seconds_still > 1000
        next(out)
        assert out.seconds_still < 1000
