"""Defines the tables [training] and [coordination]: a client's local training, and the scheme.

Names are Flower's where it has one, with "client" for its "node" (docs/how-to/coming-from-flower.md).
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta
from msgspec.structs import force_setattr

from backend.formats.task_file.averaging import Averaging
from backend.formats.task_file.byzantine import ByzantineTable
from backend.formats.task_file.server_optimizer import FEDAVG, ServerOptimizerChoice
from backend.formats.task_file.types import NotNegative, Number, Positive, TaskTable
from backend.formats.task_file.units import Units

Fraction = Annotated[float, Meta(ge=0, le=1)]
Clients = Annotated[int, Meta(ge=1, le=10_000)]
Seconds = Annotated[float, Meta(ge=1, le=86_400)]

# Metrics with these endings are better when smaller; all others are better when larger.
SMALLER_IS_BETTER = (
    "loss",
    "error",
    "crossentropy",
    "divergence",
    "poisson",
    "hinge",
    "mae",
    "mse",
    "mape",
    "msle",
    "false_positives",
    "false_negatives",
)


class Training(TaskTable, frozen=True):
    """A client's local training in one round: `epochs` over its examples, or `steps`.

    `proximal_mu` is FedProx's, `control_variates` are SCAFFOLD's. `exact` asks for the same bits everywhere;
    exactness.py has its default.
    """

    epochs: Annotated[int, Meta(ge=1, le=1000)] | None = None
    steps: Number | None = None
    batch_size: Number | None = None
    learning_rate: Positive | None = None
    proximal_mu: NotNegative = 0.0
    control_variates: bool = False
    exact: Literal["required", "preferred", "off"] | None = None

    def __post_init__(self) -> None:
        if self.epochs is not None and self.steps is not None:
            raise ValueError("training takes epochs or steps, not both")


class Target(TaskTable, frozen=True):
    """The metric value at which a task finishes. `mode` says whether smaller or larger is better."""

    metric: Annotated[str, Meta(min_length=1, max_length=64)]
    value: float
    mode: Literal["auto", "min", "max"] = "auto"

    @property
    def upward(self) -> bool:
        """Whether larger is better."""
        return self.mode == "max" or (self.mode == "auto" and not self.metric.endswith(SMALLER_IS_BETTER))


class StopTable(TaskTable, frozen=True):
    """Conditions that finish a task before its last round."""

    target: Target | None = None
    patience: Number | None = None
    min_delta: NotNegative = 0.0
    seconds: Positive | None = None

    def __post_init__(self) -> None:
        if self.min_delta and self.patience is None:
            raise ValueError("min_delta belongs to patience, the number of versions to wait for progress")


class Coordination(TaskTable, frozen=True):
    """Configures the scheme, its rounds and its cohorts. Times are seconds.

    `averaging` and `byzantine` are for decentralized tasks, `units` for volunteer tasks; each is None for
    other schemes. The `rounds` of a volunteer task are its epochs.
    """

    scheme: Literal["federated", "decentralized", "volunteer"]
    rounds: Number = 0
    fraction_train: Annotated[float, Meta(gt=0, le=1)] = 1.0
    min_train_clients: Clients = 2
    min_available_clients: Clients = 2
    over_selection: Annotated[float, Meta(ge=0, le=10)] = 0.0
    quorum: Clients = 1
    deadline: Seconds = 60.0
    min_deadline: Seconds | None = None
    adaptive_deadline: bool = True
    gather: Annotated[float, Meta(ge=0, le=3600)] = 1.0
    grace: Annotated[float, Meta(ge=0, le=3600)] = 5.0
    fraction_evaluate: Fraction | None = None
    min_evaluate_clients: Clients = 2
    evaluate_every: Number = 1
    server_optimizer: ServerOptimizerChoice = FEDAVG
    stop: StopTable = StopTable()
    averaging: Averaging | None = None
    byzantine: ByzantineTable | None = None
    units: Units | None = None

    def __post_init__(self) -> None:
        self._check_passes()
        if self.averaging is not None and not self.decentralized:
            raise ValueError('averaging goes with scheme = "decentralized"; take the table out')
        if self.byzantine is not None and not self.decentralized:
            raise ValueError(
                'byzantine goes with scheme = "decentralized", whose members check each other: take the '
                "table out, or take that scheme. Where a server aggregates, [security.robust] bears false "
                "updates"
            )
        if self.min_deadline is not None and self.min_deadline > self.deadline:
            raise ValueError("min_deadline is over deadline; lower it or raise that")
        if self.quorum > self.min_available_clients:
            raise ValueError(
                "quorum is over min_available_clients, so a round could open that cannot succeed; "
                "lower quorum or raise min_available_clients"
            )
        if self.fraction_train < 1.0 and self.quorum > self.min_train_clients:
            raise ValueError(
                "quorum is over min_train_clients, so a round could choose too few clients to succeed; "
                "lower quorum or raise min_train_clients"
            )

    def _check_passes(self) -> None:
        """Checks that the number of passes is given by the scheme's own key, `rounds` or `units.epochs`."""
        if self.volunteer:
            if self.units is None:
                raise ValueError(
                    'scheme = "volunteer" needs the table [coordination.units] with its `epochs`: write '
                    "[coordination.units] below the other keys of [coordination], and epochs = 20 below that"
                )
            if self.rounds not in (0, self.units.epochs):
                raise ValueError('rounds cannot be combined with scheme = "volunteer"; say units.epochs')
            force_setattr(self, "rounds", self.units.epochs)
            return
        if self.units is not None:
            raise ValueError('units goes with scheme = "volunteer"; take the table out')
        if not self.rounds:
            # The words of msgspec for a missing key: `rounds` has a default only for volunteer tasks.
            raise ValueError("Object missing required field `rounds`")

    @property
    def volunteer(self) -> bool:
        """Whether clients train work units, whose results are assimilated on arrival."""
        return self.scheme == "volunteer"

    @property
    def required_clients(self) -> int:
        """Minimum number of clients for training to proceed."""
        return 1 if self.volunteer else self.min_available_clients

    @property
    def decentralized(self) -> bool:
        """Whether peers average among themselves, without a server."""
        return self.scheme == "decentralized"

    @property
    def averages(self) -> Averaging:
        """Settings of averaging among peers, with defaults."""
        return self.averaging or Averaging()

    @property
    def shortest_deadline(self) -> float:
        """Minimum deadline of a round in seconds if the deadline is adaptive."""
        return min(10.0, self.deadline) if self.min_deadline is None else self.min_deadline
