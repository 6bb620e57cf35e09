"""Defines the table [model]: the model's files, losses, metrics and client optimizer."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta

from backend.formats.task_file.types import Line, Measures, NotNegative, Number, Positive, Share, TaskTable


class Schedule(TaskTable, frozen=True):
    """The client's learning-rate schedule over the steps of all rounds, with Keras's names."""

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


class OptimizerTable(TaskTable, frozen=True):
    """The client's optimizer and its hyper-parameters, with Keras's names.

    The converter checks which hyper-parameters an optimizer accepts.
    """

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


class TrainingObjective(TaskTable, frozen=True):
    """Losses that train some of the variables with a separate optimizer.

    The converter checks losses, outputs and patterns.
    """

    losses: Annotated[list[dict[str, Any]], Meta(min_length=1, max_length=64)]
    name: Annotated[str, Meta(min_length=1, max_length=32)] | None = None
    trains: Annotated[list[Line], Meta(min_length=1, max_length=256)] | None = None
    optimizer: OptimizerTable | None = None


class ModelTable(TaskTable, frozen=True):
    """The model to train: source file, bundle, batch size, losses, metrics and client optimizer."""

    file: str
    bundle: str
    batch_size: Number
    slice: Number | None = None
    loss: Measures | None = None
    loss_weights: dict[str, NotNegative] | list[NotNegative] | NotNegative | None = None
    class_weight: list[NotNegative] | None = None
    metrics: dict[str, Measures] | list[Measures] | None = None
    optimizer: OptimizerTable | None = None
    objectives: Annotated[list[TrainingObjective], Meta(min_length=1, max_length=8)] | None = None

    def __post_init__(self) -> None:
        for key in ("loss", "loss_weights", "class_weight"):
            if self.objectives is not None and getattr(self, key) is not None:
                raise ValueError(f"`objectives` have losses of their own; leave `{key}` out")
