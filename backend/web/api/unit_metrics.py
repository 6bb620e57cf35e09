"""Exports metrics of work units to Prometheus."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from backend.server.observers import task_events
from backend.server.units.host import UnitsHost

# Buckets of the results assimilated since a result's training began.
STALENESS = (0, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
STATES = ("open", "leased", "compared", "done", "failed", "dropped")
SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60)


class UnitFigures:
    """Counts the events of tasks' work units in `registry`."""

    def __init__(self, registry: CollectorRegistry) -> None:
        def make_counter(name: str, text: str, *labels: str) -> Counter:
            return Counter(f"minga_{name}", text, ["task", *labels], registry=registry)

        def make_histogram(name: str, text: str, buckets: tuple[float, ...]) -> Histogram:
            return Histogram(f"minga_{name}", text, ["task"], registry=registry, buckets=buckets)

        self._leased = make_counter("units_leased", "Work units given to clients")
        self._returned = make_counter("units_returned", "Results of work units received", "late")
        self._released = make_counter("units_released", "Work units that clients gave back", "cause")
        self._counted = make_counter("units_counted", "Results of work units that held")
        self._rejected = make_counter("units_rejected", "Results of work units that do not count", "code")
        self._reopened = make_counter("epochs_reopened", "Epochs begun again: no unit had a result")
        self._examples = make_counter("units_examples", "Examples of the results that held")
        self._staleness = make_histogram(
            "staleness", "Results blended since a blended one was begun", STALENESS
        )
        self._seconds = make_histogram(
            "assimilate_seconds", "Seconds until a result is in the model", SECONDS
        )

    def notice(self, task: str, event: task_events.TaskEvent) -> None:
        """See Observer."""
        match event:
            case task_events.UnitLeased(again=False):
                self._leased.labels(task).inc()
            case task_events.UnitReturned():
                self._returned.labels(task, "yes" if event.late else "no").inc()
            case task_events.UnitReleased():
                self._released.labels(task, event.cause).inc()
            case task_events.UnitCounted():
                self._counted.labels(task).inc()
                self._examples.labels(task).inc(event.examples)
            case task_events.EpochRestarted():
                self._reopened.labels(task).inc()
            case task_events.UnitRejected():
                self._rejected.labels(task, event.code).inc()
            case task_events.ResultAssimilated():
                self._staleness.labels(task).observe(event.staleness)
                self._seconds.labels(task).observe(event.seconds)


class UnitGauges(Collector):
    """Reads the state of work units from `hosts` at each scrape."""

    def __init__(self, hosts: Callable[[], Iterable[UnitsHost]]) -> None:
        self._hosts = hosts

    def collect(self) -> Iterable[Metric]:
        """See Collector."""
        units = GaugeMetricFamily("minga_units", "Work units of the epoch", labels=["task", "state"])
        slots = GaugeMetricFamily("minga_slots", "Units that clients take at once", labels=["task"])
        servers = GaugeMetricFamily("minga_parameter_servers", "Parameter servers", labels=["task"])
        backlog = GaugeMetricFamily("minga_backlog", "Results that wait for one", labels=["task"])
        lost = CounterMetricFamily("minga_lost_updates", "Updates that others overwrote", labels=["task"])
        for host in self._hosts():
            tally = host.state.scheduler.progress.tally()
            for state in STATES:
                units.add_metric([host.name, state], getattr(tally, state))
            clients = host.state.scheduler.clients()
            connected = [clients[entry.client] for entry in host.presences if entry.client in clients]
            slots.add_metric([host.name], sum(client.slots for client in connected))
            servers.add_metric([host.name], host.state.servers.count)
            backlog.add_metric([host.name], host.state.servers.backlog)
            lost.add_metric([host.name], host.state.model.lost)
        return [units, slots, servers, backlog, lost]
