"""The tables [training] and [coordination]: what a client does in a round, and how clients work together."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from backend.services.taskfile.types import Number, Part, Positive, Share


class Training(Part, frozen=True):
    """What a client does in one round."""

    epochs: Annotated[int, Meta(ge=1, le=1000)] = 1


class ServerOptimizerChoice(Part, frozen=True):
    """How the mean update becomes the next version."""

    name: Literal["fedavg", "fedavgm"] = "fedavg"
    learning_rate: Positive = 1.0
    momentum: Share | None = None


class Coordination(Part, frozen=True):
    """How clients work together. Times are seconds."""

    scheme: Literal["federated"]
    rounds: Number
    min_available_clients: Annotated[int, Meta(ge=1, le=10_000)] = 2
    quorum: Annotated[int, Meta(ge=1, le=10_000)] = 1
    deadline: Annotated[float, Meta(ge=1, le=86_400)] = 60.0
    gather: Annotated[float, Meta(ge=0, le=3600)] = 1.0
    server_optimizer: ServerOptimizerChoice = ServerOptimizerChoice()
