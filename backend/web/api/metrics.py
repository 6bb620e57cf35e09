"""Exports metrics to Prometheus: counters of events, and values read from the hosts at each scrape."""

from __future__ import annotations

import collections
import hmac
from collections.abc import Callable, Iterable
from functools import partial
from ipaddress import ip_address

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from backend.errors import ForbiddenError
from backend.server.hosting.task_host import TaskHost
from backend.server.observers import task_events
from backend.web.api.unit_metrics import UnitFigures
from backend.web.pages.template_words import BACKENDS, KINDS
from backend.web.schemes import WEB_SCHEMES

SECONDS = (0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800, 3600)
AGGREGATE_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60)
LOCAL_NAMES = ("localhost", "127.0.0.1", "[::1]")
# Proxies set these headers: the connection comes from this machine, but the client may not.
FORWARDED = ("forwarded", "x-forwarded-for", "x-real-ip")


class Metrics:
    """Owns the metrics registry of one server. Implements Observer for its tasks."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        task = ["task"]
        self._rounds = self._count("rounds", "Rounds that ended", "outcome")
        self._accepted = self._count("updates_accepted", "Updates that count")
        self._refused = self._count("updates_refused", "Updates refused", "code")
        self._examples = self._count("examples", "Examples of the updates that count")
        self._evaluations = self._count("evaluations", "Versions evaluated", "source")
        self._store_failures = self._count("store_failures", "Attempts to record that failed")
        self._seconds = Histogram(
            "minga_round_seconds", "Seconds of a round", task, registry=self.registry, buckets=SECONDS
        )
        self._aggregation_seconds = Histogram(
            "minga_aggregate_seconds",
            "Seconds from a round's last update to its recorded version",
            task,
            registry=self.registry,
            buckets=AGGREGATE_SECONDS,
        )
        self._version = Gauge(
            "minga_version", "Newest version made since the start", task, registry=self.registry
        )
        self._dropped = self._count(
            "masked_dropped", "Clients that shared masks, but whose update is missing"
        )
        self._unmask_seconds = Histogram(
            "minga_unmask_seconds",
            "Seconds of taking the masks off a sum",
            task,
            registry=self.registry,
            buckets=AGGREGATE_SECONDS,
        )

        self._averaging_seconds = Histogram(
            "minga_averaging_seconds",
            "Seconds that peers took to average, the slowest of a round",
            task,
            registry=self.registry,
            buckets=SECONDS,
        )
        self._units = UnitFigures(self.registry)
        self._jobs = Counter(
            "minga_draft_jobs", "Jobs on drafts that ended", ["kind", "outcome"], registry=self.registry
        )

    def _count(self, name: str, text: str, *labels: str) -> Counter:
        return Counter(f"minga_{name}", text, ["task", *labels], registry=self.registry)

    def count_job(self, kind: str, outcome: str) -> None:
        """Counts a job on a draft: `done`, `cancelled`, or the code of its error."""
        self._jobs.labels(kind, outcome).inc()

    def notice(self, task: str, event: task_events.TaskEvent) -> None:
        """See Observer."""
        self._units.notice(task, event)
        match event:
            case task_events.UpdateAccepted():
                self._accepted.labels(task).inc()
                self._examples.labels(task).inc(event.examples)
            case task_events.UpdateRefused():
                self._refused.labels(task, event.code).inc()
            case task_events.SumUnmasked():
                self._examples.labels(task).inc(event.examples)
                self._dropped.labels(task).inc(event.dropped)
                self._unmask_seconds.labels(task).observe(event.seconds)
            case task_events.PeersAveraged():
                self._averaging_seconds.labels(task).observe(event.seconds)
            case task_events.RoundEnded(ended, version):
                self._rounds.labels(task, ended.outcome).inc()
                self._seconds.labels(task).observe(ended.seconds)
                if version is not None:
                    self._version.labels(task).set(version.version)
            case task_events.VersionMade():
                self._aggregation_seconds.labels(task).observe(event.seconds)
            case task_events.VersionEvaluated(evaluation):
                self._evaluations.labels(task, evaluation.source).inc()
            case task_events.StoreFailed():
                self._store_failures.labels(task).inc()

    def watch(self, hosts: Callable[[], Iterable[TaskHost]]) -> None:
        """Registers collectors that read the current hosts at each scrape."""
        self.registry.register(_HostFigures(hosts))
        for name, scheme in WEB_SCHEMES.items():
            if scheme.gauges is not None:
                self.registry.register(scheme.gauges(partial(_of_scheme, name, hosts)))


class _HostFigures(Collector):
    def __init__(self, hosts: Callable[[], Iterable[TaskHost]]) -> None:
        self._hosts = hosts

    def collect(self) -> Iterable[Metric]:
        clients = GaugeMetricFamily("minga_clients", "Clients connected", labels=["task", "kind", "backend"])
        waiting = GaugeMetricFamily("minga_inbox", "Events that wait for a task's host", labels=["task"])
        trouble = GaugeMetricFamily("minga_paused", "1 while a task waits for its stores", labels=["task"])
        received = CounterMetricFamily("minga_received_bytes", "Bytes of updates received", labels=["task"])
        sent = CounterMetricFamily("minga_sent_bytes", "Bytes of frames and blobs sent", labels=["task"])
        carried = CounterMetricFamily(
            "minga_carried_bytes", "Bytes carried from peer to peer of a mesh", labels=["task"]
        )
        links = GaugeMetricFamily("minga_links", "Ends of links between peers", labels=["task", "way"])
        for host in self._hosts():
            carried.add_metric([host.name], host.carried)
            for way, count in collections.Counter(host.ways).items():
                links.add_metric([host.name, way], count)
            received.add_metric([host.name], host.received)
            sent.add_metric([host.name], host.sent)
            for (kind, backend), count in collections.Counter(map(_bounded_labels, host.clients)).items():
                clients.add_metric([host.name, kind, backend], count)
            waiting.add_metric([host.name], host.waiting)
            trouble.add_metric([host.name], float(host.trouble is not None))
        return [clients, waiting, trouble, received, sent, carried, links]


def _of_scheme(name: str, hosts: Callable[[], Iterable[TaskHost]]) -> list[TaskHost]:
    return [host for host in hosts() if host.task.file.coordination.scheme == name]


def _bounded_labels(client: tuple[str, str]) -> tuple[str, str]:
    # Clients choose these words, and each unknown one would create a new series.
    kind, backend = client
    return kind if kind in KINDS else "other", backend if backend in BACKENDS else "other"


async def metrics(request: Request) -> Response:
    """`GET /metrics`: for requests with the token or, if there is none, from this machine."""
    token: str | None = request.app.state.settings.metrics_token
    if token is not None:
        token_sent = request.headers.get("authorization", "").removeprefix("Bearer ")
        if not hmac.compare_digest(token_sent.encode(), token.encode()):
            raise ForbiddenError("Send the server's metrics token: `Authorization: Bearer TOKEN`.")
    elif not _is_local(request):
        raise ForbiddenError(
            "Metrics are shown on the server's own machine only, or with a token (--metrics-token-file)."
        )
    server_metrics: Metrics = request.app.state.metrics
    return PlainTextResponse(
        generate_latest(server_metrics.registry), media_type="text/plain; version=0.0.4; charset=utf-8"
    )


def _is_local(request: Request) -> bool:
    if request.client is None or any(name in request.headers for name in FORWARDED):
        return False
    name = request.headers.get("host", "").rsplit(":", 1)[0] or "localhost"
    try:
        return ip_address(request.client.host).is_loopback and name in LOCAL_NAMES
    except ValueError:
        return False
