# SPDX-License-Identifier: Apache-2.0
"""The parts of a service around a running pipeline: health, metrics, reports to systemd.

`/healthz` answers 200 as long as frames move, and 503 if none has moved for too long, or before the
pipeline runs. systemd's watchdog gets its signs of life by the same rule (sd_notify(3)).
"""

from __future__ import annotations

import os
import socket
import threading
from contextlib import ExitStack, suppress
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any

from ..errors import MissingDependencyError, NativeError

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Self

    from ..elements import Running

__all__ = ["Service"]

_TEXT = "text/plain; charset=utf-8"

_PATIENCE = 0.5
"""The seconds that the service manager may take to accept a message."""


class Service:
    """Reports whether a pipeline is healthy, until the end of the block.

    Args:
        listen: `[HOST:]PORT` of its server; None for no server.
        name: the name of the pipeline, for the metrics.
        still: the seconds without a frame after which it is unhealthy.
    """

    def __init__(self, listen: str | None, name: str, still: float) -> None:
        self._listen, self._name, self._still = listen, name, still
        self._running: Running | None = None
        self._provider: Any = None
        self._exposition: Callable[[], tuple[bytes, str]] | None = None
        self._ends: SimpleQueue[None] = SimpleQueue()
        self._ending = ExitStack()

    def watch(self, running: Running) -> None:
        """Report on this pipeline, which has started, from now on."""
        self._running = running
        _report_to_systemd("READY=1")
        try:
            from ..metrics import observe

            observe(running, self._name, meter_provider=self._provider)
        except MissingDependencyError:
            pass  # users who want metrics install it; /metrics explains that
        interval = _watchdog_interval()
        if interval is not None:
            self._start(lambda: self._pet(interval))

    def health(self) -> tuple[bool, str]:
        """True if the pipeline is healthy, and the reason in words."""
        running = self._running
        if running is None:
            return False, "it has not started yet"
        if running.stopped:
            return False, "it has stopped"
        still = running.seconds_still
        return still <= self._still, f"a frame moved {still:.1f} s ago"

    def metrics(self) -> tuple[bytes, str] | None:
        """The metrics in Prometheus' format, and the content type; None without an exporter."""
        return None if self._exposition is None else self._exposition()

    def __enter__(self) -> Self:
        """Listen.

        Raises:
            NativeError: the address cannot be used, for example if another program listens there.
        """
        if self._listen is not None:
            self._make_exporter()
            host, _, port = self._listen.rpartition(":")
            address = host or "127.0.0.1", int(port)
            try:
                server = ThreadingHTTPServer(address, _handler(self))
            except OSError as error:
                where = "bind() of {}:{}".format(*address)
                raise NativeError(where, error.errno or 0, error.strerror or str(error)) from error
            server.daemon_threads = True
            self._ending.callback(server.server_close)
            self._ending.callback(server.shutdown)
            self._start(partial(server.serve_forever, poll_interval=0.05))
        return self

    def __exit__(self, *_: object) -> None:
        _report_to_systemd("STOPPING=1")
        self._ends.put(None)
        self._ending.close()

    def _make_exporter(self) -> None:
        """Make the metrics for Prometheus, if OpenTelemetry's exporter is installed.

        A provider that the program has set stays: it may have that exporter itself.
        """
        try:
            from opentelemetry import metrics
            from opentelemetry.exporter.prometheus import PrometheusMetricReader
            from opentelemetry.sdk.metrics import MeterProvider
            from prometheus_client import REGISTRY
            from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
        except ImportError:
            return
        if not isinstance(metrics.get_meter_provider(), MeterProvider):
            self._provider = MeterProvider([PrometheusMetricReader()], shutdown_on_exit=False)
            self._ending.callback(self._provider.shutdown)
        self._exposition = lambda: (generate_latest(REGISTRY), CONTENT_TYPE_LATEST)

    def _start(self, work: Callable[[], None]) -> None:
        thread = threading.Thread(target=work, name="samebytes service", daemon=True)
        thread.start()

    def _pet(self, interval: float) -> None:
        """Give the watchdog a sign of life, as long as the pipeline is healthy."""
        while True:
            try:
                self._ends.get(timeout=interval)
                return
            except Empty:
                if self.health()[0]:
                    _report_to_systemd("WATCHDOG=1")


def _handler(service: Service) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        """Answers GET and HEAD of two paths."""

        def do_GET(self) -> None:
            path = self.path.partition("?")[0]
            if path == "/healthz":
                well, why = service.health()
                self._answer(200 if well else 503, f"{why}\n".encode(), _TEXT)
                return
            found = service.metrics() if path == "/metrics" else None
            if found is not None:
                self._answer(200, *found)
            elif path == "/metrics":
                said = "for metrics: pip install opentelemetry-exporter-prometheus\n"
                self._answer(501, said.encode(), _TEXT)
            else:
                self._answer(404, b"/healthz and /metrics are here\n", _TEXT)

        def do_HEAD(self) -> None:
            self.do_GET()  # load balancers send HEAD; _answer leaves out the body

        def _answer(self, status: int, body: bytes, kind: str) -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Log nothing: probes come every few seconds."""

    return Handler


def _report_to_systemd(state: str) -> None:
    """Send a state to the service manager, if one asked for it (sd_notify(3))."""
    address = os.environ.get("NOTIFY_SOCKET")
    if not address:
        return
    if address.startswith("@"):
        address = f"\0{address[1:]}"
    kind = socket.SOCK_DGRAM | socket.SOCK_CLOEXEC
    # A manager that is gone or does not read must neither end nor delay the pipeline.
    with suppress(OSError), socket.socket(socket.AF_UNIX, kind) as out:
        out.settimeout(_PATIENCE)
        out.sendto(state.encode(), address)


def _watchdog_interval() -> float | None:
    """Half of the watchdog's time limit, in seconds; None if systemd does not watch the service."""
    microseconds = os.environ.get("WATCHDOG_USEC")
    return int(microseconds) / 2e6 if microseconds else None
