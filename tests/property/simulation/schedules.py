"""What a seed stands for: a small task, its clients, and everything that goes wrong."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import Any, Literal, get_args

from backend.simulation.client_work import Exit

Mischief = Literal[
    "nan", "huge", "short", "many-examples", "no-examples", "twice", "stale", "garbage", "stall", "overrun",
    "uninvited", "mute",
]  # fmt: skip
# Shards are dealt out, clients bring their own data, or shards with SCAFFOLD's control variates.
Kind = Literal["shards", "own", "control"]
# Updates of one chunk, of two, and of more than a window of credit.
SIZES = (10, 70_000, 300_000)
MISCHIEF: tuple[Mischief, ...] = get_args(Mischief)
EXITS: tuple[Exit, ...] = ("crash", "crash", "loss", "leave")

OPTIMIZERS: list[dict[str, Any]] = [
    {"name": "fedavg"},
    {"name": "fedavg", "learning_rate": 0.5},
    {"name": "fedavgm", "learning_rate": 0.5, "momentum": 0.5},
    {"name": "nesterov"},
    {"name": "fedadagrad", "eta": 0.01},
    {"name": "fedadam", "eta": 0.01},
    {"name": "fedyogi"},
]
WORKS: list[dict[str, Any]] = [
    {},
    {"epochs": 3},
    {"steps": 7, "batch_size": 2},
    {"steps": 1, "proximal_mu": 0.1},
]
STOPS: list[dict[str, Any]] = [
    *[{}] * 6,
    {"seconds": 40.0},
    {"target": {"metric": "accuracy", "value": 0.62}},
    {"patience": 4, "min_delta": 0.01},
]


@dataclass(frozen=True)
class Schedule:
    """One run. Times are seconds of virtual time; shares lie between 0 and 1.

    The model has `values` values. After `trouble` seconds everybody behaves, and the task must go on. The
    server is killed at each of `kills` and comes back `away` seconds later. `exits` is the share of plans
    whose client drops out, in one of `ways`.
    """

    seed: int
    coordination: dict[str, Any]
    values: int
    clients: int
    exits: float
    rascals: tuple[Mischief, ...]
    trouble: float
    kills: tuple[float, ...]
    away: float
    slow_worker: float
    kind: Kind = "shards"
    training: dict[str, Any] = field(default_factory=dict)
    ways: tuple[Exit, ...] = EXITS


def schedule(seed: int) -> Schedule:
    """The run of a seed."""
    random = Random(seed)
    clients = random.randint(2, 9)
    available = random.randint(1, clients)
    trouble = random.uniform(20.0, 90.0)
    values = random.choice([*[SIZES[0]] * 36, *[SIZES[1]] * 3, SIZES[2]])
    kind: Kind = random.choice(("shards", "shards", "own", "control"))
    # The slowest links need their time: a plan that cannot succeed shows nothing.
    deadlines = [6.0, 8.0, 20.0] if values == SIZES[0] else [20.0]
    return Schedule(
        seed=seed,
        coordination={
            "rounds": random.choice([3, 1000, 1000, 1000]),
            "min_available_clients": available,
            "quorum": random.randint(1, available),
            "deadline": random.choice(deadlines),
            "fraction_train": random.choice([0.5, 1.0, 1.0]),
            "min_train_clients": available,
            "over_selection": random.choice([0.0, 0.3, 1.0]),
            "min_deadline": random.choice([1.0, 3.0]),
            "adaptive_deadline": random.choice([True, False]),
            "gather": random.choice([0.0, 0.5, 3.0]),
            "fraction_evaluate": random.choice([0.0, 0.4, 1.0]),
            "min_evaluate_clients": random.randint(1, 3),
            "evaluate_every": random.choice([1, 1, 3]),
            "server_optimizer": random.choice(OPTIMIZERS),
            "stop": random.choice(STOPS),
        },
        training=random.choice(WORKS),
        kind=kind,
        values=values,
        clients=clients,
        exits=random.choice([0.0, 0.2, 0.5, 0.9]),
        rascals=tuple(random.choices(MISCHIEF, k=random.choice([0, 0, 1, 3]))),
        trouble=trouble,
        kills=tuple(sorted(random.uniform(0.0, trouble) for _ in range(random.choice([0, 0, 1, 3])))),
        away=random.uniform(0.1, 10.0),
        slow_worker=random.choice([0.0, 0.0, 0.3]),
    )
