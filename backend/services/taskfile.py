"""The task file: docs/reference/task-file.md is its specification, this its typed form."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct, field

from backend.errors import TaskFileError

Name = Annotated[str, Meta(min_length=1, max_length=64, pattern="^[a-z0-9][a-z0-9-]*$")]
Line = Annotated[str, Meta(max_length=300)]
Positive = Annotated[float, Meta(gt=0, le=1e9)]
NotNegative = Annotated[float, Meta(ge=0, le=1e9)]
Share = Annotated[float, Meta(ge=0, lt=1)]
Number = Annotated[int, Meta(ge=1, le=1_000_000)]


# A loss or metric: its name, a table with its name and settings, or several for several outputs.
# The converter knows the names.
Measures = str | dict[str, Any] | list[Any]


class Part(Struct, frozen=True, forbid_unknown_fields=True):
    """Base of every table: an unknown key is an error."""


class Schedule(Part, frozen=True):
    """How the client's learning rate changes over the steps of all rounds, as Keras names it."""

    name: Literal[
        "exponential_decay",
        "inverse_time_decay",
        "polynomial_decay",
        "piecewise_constant_decay",
        "cosine_decay",
        "cosine_decay_restarts",
    ]
    decay_steps: Positive | None = None
    first_decay_steps: Positive | None = None
    decay_rate: Positive | None = None
    staircase: bool | None = None
    end_learning_rate: NotNegative | None = None
    power: NotNegative | None = None
    cycle: bool | None = None
    alpha: NotNegative | None = None
    warmup_target: NotNegative | None = None
    warmup_steps: NotNegative | None = None
    t_mul: Positive | None = None
    m_mul: Positive | None = None
    boundaries: list[NotNegative] | None = None
    values: list[NotNegative] | None = None


class Optimizer(Part, frozen=True):
    """The client's optimizer and its hyper-parameters, as Keras names them; the converter checks which go
    together."""

    name: Literal[
        "sgd",
        "momentum",
        "rmsprop",
        "adagrad",
        "adadelta",
        "adam",
        "adamw",
        "adamax",
        "nadam",
        "lion",
        "ftrl",
    ]
    learning_rate: Positive | None = None
    schedule: Schedule | None = None
    momentum: Share | None = None
    nesterov: bool | None = None
    rho: Share | None = None
    centered: bool | None = None
    beta_1: Share | None = None
    beta_2: Share | None = None
    epsilon: Positive | None = None
    amsgrad: bool | None = None
    initial_accumulator_value: NotNegative | None = None
    learning_rate_power: Annotated[float, Meta(ge=-1, le=0)] | None = None
    l1_regularization_strength: NotNegative | None = None
    l2_regularization_strength: NotNegative | None = None
    l2_shrinkage_regularization_strength: NotNegative | None = None
    beta: NotNegative | None = None
    weight_decay: Share | None = None
    exclude_from_weight_decay: list[Line] | None = None
    clipnorm: Positive | None = None
    clipvalue: Positive | None = None
    global_clipnorm: Positive | None = None
    gradient_accumulation_steps: Annotated[int, Meta(ge=2, le=999_999)] | None = None


class Model(Part, frozen=True):
    """What is trained."""

    file: str
    bundle: str
    batch_size: Number
    slice: Number | None = None
    loss: Measures | None = None
    loss_weights: dict[str, NotNegative] | list[NotNegative] | NotNegative | None = None
    class_weight: list[NotNegative] | None = None
    metrics: dict[str, Measures] | list[Measures] | None = None
    optimizer: Optimizer | None = None


class Preprocess(Part, frozen=True):
    """What happens to raw shard values before the model sees them."""

    scale: Positive = 1.0


class Data(Part, frozen=True):
    """Where the examples come from."""

    source: Literal["shards"]
    shards: str
    shards_per_client: Number = 1
    preprocess: Preprocess | None = None


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
    min_clients: Annotated[int, Meta(ge=1, le=10_000)] = 2
    quorum: Annotated[int, Meta(ge=1, le=10_000)] = 1
    deadline: Annotated[float, Meta(ge=1, le=86_400)] = 60.0
    gather: Annotated[float, Meta(ge=0, le=3600)] = 1.0
    server_optimizer: ServerOptimizerChoice = ServerOptimizerChoice()


class Security(Part, frozen=True):
    """Bounds on what one client may do."""

    max_update_norm: Positive = 100.0


class Try(Part, frozen=True):
    """The "Try the model" widget."""

    input: Annotated[str, Meta(max_length=32, pattern="^[a-z-]+$")]
    labels: list[Line] = []


class Licence(Part, frozen=True):
    """Under which terms model and data are published."""

    model: Line | None = None
    data: Line | None = None


class TaskFile(Part, frozen=True):
    """A whole task.toml."""

    name: Name
    title: Line
    model: Model
    data: Data
    coordination: Coordination
    summary: Line = ""
    topics: list[Line] = []
    training: Training = Training()
    security: Security = Security()
    trial: Try | None = field(name="try", default=None)
    licence: Licence = Licence()


def read_task_file(path: Path, overrides: Sequence[str] = ()) -> TaskFile:
    """The task in the file at `path`, with overrides such as `coordination.rounds=5` applied.

    Raises TaskFileError that names the field.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise TaskFileError(f"{path} cannot be read: {error}.") from error
    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise TaskFileError(f"{path} is not valid TOML: {error}.") from error
    for override in overrides:
        _override(tables, override)
    return parse_task(tables, str(path))


def parse_task(tables: dict[str, Any], where: str) -> TaskFile:
    """The typed form of a parsed task file; `where` names it in errors."""
    try:
        task = msgspec.convert(tables, TaskFile)
    except msgspec.ValidationError as error:
        text = str(error).replace("Object ", "It ").replace("`$.", "`")
        raise TaskFileError(f"{where}: {text}. See docs/reference/task-file.md.") from error
    chosen = task.coordination.server_optimizer
    if chosen.momentum is not None and chosen.name != "fedavgm":
        raise TaskFileError(
            f"{where}: server_optimizer.momentum belongs to fedavgm; leave it out or choose that."
        )
    if task.coordination.quorum > task.coordination.min_clients:
        raise TaskFileError(
            f"{where}: coordination.quorum is over min_clients, so a round could open that cannot succeed. "
            "Lower quorum or raise min_clients."
        )
    return task


def _override(tables: dict[str, Any], override: str) -> None:
    """Sets `a.b.c=value`; the value is TOML, or else a plain text."""
    key, equals, text = override.partition("=")
    *folders, last = key.strip().split(".")
    if not equals or not last:
        raise TaskFileError(f"'{override}' is no override; write TASK.TABLE.KEY=VALUE.")
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        value = text
    table = tables
    for folder in folders:
        inner = table.setdefault(folder, {})
        if not isinstance(inner, dict):
            raise TaskFileError(f"'{override}' cannot be set: {folder} is not a table.")
        table = inner
    table[last] = value
