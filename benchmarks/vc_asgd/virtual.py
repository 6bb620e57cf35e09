"""The cells of the paper on VC-ASGD on virtual time: 5 million parameters, servers that share a machine.

Host, scheduler, pool of parameter servers and recipe are those of `minga simulate`; what a step, an
evaluation and a result cost was measured. Nothing is learned.
"""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import structlog

from backend.formats.op_allowlist import read_allow_list
from backend.protocols.units.server_pool import PoolRules
from backend.settings import ops_file
from backend.simulation.population import SimulatedPopulation
from backend.simulation.units.machines import RentedMachine
from backend.simulation.units.store_costs import StoreName
from backend.simulation.units.unit_trial import UnitTrial, try_units
from benchmarks.support.dense_task import write_units
from benchmarks.vc_asgd.cells import PLACES
from benchmarks.vc_asgd.run import Experiment

PARAMETERS = 5_000_000
SHARDS = 50
LEASE = "coordination.units.lease=86400"
# How many servers and clients are tried beside the cells, the others as here.
SERVERS = (1, 2, 3, 4, 6, 8, 12)
CLIENTS = (3, 4, 5, 6, 8)
SERVER_PLACE, CLIENT_PLACE = Experiment(1, 5, 8), Experiment(5, 3, 2)


@dataclass(frozen=True)
class Machines:
    """What is assumed of the machines. `train` and `evaluate` are core seconds an image.

    These were measured (benchmarks.vc_asgd.costs), with a network of 4.97 million parameters. A unit
    has `images`, which a client visits once; a parameter server evaluates the model on `evaluated` images
    after each result, or with 0 leaves that to others. Rates are in Mbit/s.
    """

    train: float = 0.144
    evaluate: float = 0.0314
    images: int = 1000
    evaluated: int = 500
    server_cores: int = 8
    client_cores: int = 8
    client_rate: float = 1000.0
    server_rate: float = 10_000.0
    latency: float = 0.001
    store: StoreName = "redis"


@dataclass(frozen=True)
class VirtualRun:
    """One simulated training; `seconds` are virtual.

    `lost` is the share of results that other servers overwrote; `busy` that of the servers' time with a
    result; `waiting` the number of waiting results that nine of ten found at most when they arrived;
    `staleness` the median.
    """

    name: str
    servers: int
    clients: int
    slots: int
    evaluated: int
    seconds: float
    lost: float
    busy: float
    waiting: float
    staleness: float


@dataclass(frozen=True)
class VirtualReport:
    """All simulated trainings: the cells, more and more servers, and more and more clients."""

    machines: Machines
    parameters: int
    epochs: int
    cells: list[VirtualRun] = field(default_factory=list)
    by_servers: list[VirtualRun] = field(default_factory=list)
    by_servers_alone: list[VirtualRun] = field(default_factory=list)
    by_clients: list[VirtualRun] = field(default_factory=list)


def simulate(
    machines: Machines,
    epochs: int,
    seed: int,
    note: Callable[[str], None],
    parameters: int = PARAMETERS,
    servers: Sequence[int] = SERVERS,
    clients: Sequence[int] = CLIENTS,
) -> VirtualReport:
    """Simulates all cells and rows. In one row of servers these only blend results, and others evaluate.

    Raises RuntimeError for less than one epoch, or where the model cannot be converted.
    """
    if epochs < 1:
        raise RuntimeError("--epochs is at least 1.")
    # What a server logs is in the report.
    logging.getLogger("minga").setLevel(logging.CRITICAL)
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    with tempfile.TemporaryDirectory(prefix="minga-vc-asgd-") as folder:
        task = write_units(Path(folder), parameters, SHARDS, epochs)

        def run(experiment: Experiment, machines: Machines = machines) -> VirtualRun:
            result = _simulated(task, experiment, machines, epochs, seed)
            note(f"{result.name}: {result.seconds / 3600:.2f} virtual hours")
            return result

        alone = replace(machines, evaluated=0)
        return VirtualReport(
            machines=machines,
            parameters=parameters,
            epochs=epochs,
            cells=[run(place) for place in PLACES.values()],
            by_servers=[run(replace(SERVER_PLACE, servers=count)) for count in servers],
            by_servers_alone=[run(replace(SERVER_PLACE, servers=count), alone) for count in servers],
            by_clients=[run(replace(CLIENT_PLACE, clients=count)) for count in clients],
        )


def _simulated(task: Path, experiment: Experiment, machines: Machines, epochs: int, seed: int) -> VirtualRun:
    # A unit of the task has one step, which stands for the work on all images of a unit.
    machine = RentedMachine(
        step_seconds=machines.images * machines.train,
        cores=machines.client_cores,
        upload=machines.client_rate,
        download=machines.client_rate,
        latency=machines.latency,
    )
    trial = UnitTrial(
        path=task / "task.toml",
        overrides=(LEASE,),
        population=SimulatedPopulation(experiment.clients, 0.0, {"laptop": 1}, 1.0, 1.0, 1),
        epochs=epochs,
        server_megabits=machines.server_rate,
        seed=seed,
        at_once=experiment.slots,
        store=machines.store,
        servers=PoolRules(experiment.servers, experiment.servers),
        machines=(machine,) * experiment.clients,
        server_cores=machines.server_cores,
        evaluation=machines.evaluated * machines.evaluate,
    )
    figures = try_units(trial, read_allow_list(ops_file())).figures
    return VirtualRun(
        name=experiment.name,
        servers=experiment.servers,
        clients=experiment.clients,
        slots=experiment.slots,
        evaluated=machines.evaluated,
        seconds=round(figures.seconds, 1),
        lost=round(figures.overwritten / max(1, figures.units("in the model")), 4),
        busy=round(figures.servers_busy or 0.0, 4),
        waiting=figures.queues.ninety or 0.0,
        staleness=figures.staleness.median or 0.0,
    )
