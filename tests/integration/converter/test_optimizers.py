"""The optimizers are Keras' formulas, whatever Keras wraps around them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, get_args, get_type_hints

import keras
import numpy as np
import pytest
import tensorflow as tf
from numpy.typing import NDArray

from backend.formats import task_file
from converter.optimizers import FACTORIES, Optimizer, PartOptimizers, compiled_optimizer, make_optimizer
from converter.optimizers.gradient import Gradient
from converter.optimizers.settings import COMMON_SETTINGS, DEFAULTS, SCHEDULE_DEFAULTS
from converter.refusal import Refusal
from converter.tracing.vector_layout import Layout
from tests.support.keras.native import relative_error

pytestmark = pytest.mark.tensorflow
STEPS = 12
optimizers, schedules = keras.optimizers, keras.optimizers.schedules

Make = Callable[[], Any]
PAIRS: list[tuple[dict[str, Any], Make]] = [
    ({"name": "sgd"}, optimizers.SGD),
    ({"name": "sgd", "momentum": 0.7}, lambda: optimizers.SGD(momentum=0.7)),
    (
        {"name": "momentum", "learning_rate": 0.1, "nesterov": True},
        lambda: optimizers.SGD(0.1, momentum=0.9, nesterov=True),
    ),
    ({"name": "rmsprop"}, optimizers.RMSprop),
    ({"name": "rmsprop", "momentum": 0.5}, lambda: optimizers.RMSprop(momentum=0.5)),
    ({"name": "rmsprop", "centered": True, "rho": 0.8}, lambda: optimizers.RMSprop(rho=0.8, centered=True)),
    (
        {"name": "rmsprop", "centered": True, "momentum": 0.5},
        lambda: optimizers.RMSprop(momentum=0.5, centered=True),
    ),
    ({"name": "adagrad"}, optimizers.Adagrad),
    (
        {"name": "adagrad", "initial_accumulator_value": 0.5, "learning_rate": 0.1},
        lambda: optimizers.Adagrad(0.1, 0.5),
    ),
    ({"name": "adadelta", "learning_rate": 1.0}, lambda: optimizers.Adadelta(1.0)),
    ({"name": "adam"}, optimizers.Adam),
    (
        {"name": "adam", "beta_1": 0.0, "beta_2": 0.9, "epsilon": 1e-3},
        lambda: optimizers.Adam(0.001, 0.0, 0.9, 1e-3),
    ),
    ({"name": "adam", "amsgrad": True}, lambda: optimizers.Adam(amsgrad=True)),
    ({"name": "adamw", "weight_decay": 0.1}, lambda: optimizers.AdamW(weight_decay=0.1)),
    ({"name": "adamax"}, optimizers.Adamax),
    ({"name": "nadam"}, optimizers.Nadam),
    ({"name": "lion"}, optimizers.Lion),
    ({"name": "lion", "weight_decay": 0.2}, lambda: optimizers.Lion(weight_decay=0.2)),
    ({"name": "ftrl"}, optimizers.Ftrl),
    (
        {
            "name": "ftrl",
            "learning_rate": 0.1,
            "learning_rate_power": -0.7,
            "l1_regularization_strength": 0.1,
            "l2_regularization_strength": 0.2,
            "l2_shrinkage_regularization_strength": 0.3,
            "beta": 0.4,
        },
        lambda: optimizers.Ftrl(0.1, -0.7, 0.1, 0.1, 0.2, 0.3, 0.4),
    ),
    ({"name": "sgd", "clipnorm": 1.0}, lambda: optimizers.SGD(clipnorm=1.0)),
    ({"name": "sgd", "clipvalue": 0.3}, lambda: optimizers.SGD(clipvalue=0.3)),
    ({"name": "sgd", "global_clipnorm": 2.0}, lambda: optimizers.SGD(global_clipnorm=2.0)),
    (
        {"name": "adam", "gradient_accumulation_steps": 3, "clipnorm": 0.5, "weight_decay": 0.1},
        lambda: optimizers.Adam(gradient_accumulation_steps=3, clipnorm=0.5, weight_decay=0.1),
    ),
]
SCHEDULES: list[tuple[dict[str, Any], Any]] = [
    (
        {"name": "exponential_decay", "decay_steps": 7, "decay_rate": 0.4},
        schedules.ExponentialDecay(0.1, 7, 0.4),
    ),
    (
        {"name": "exponential_decay", "decay_steps": 7, "decay_rate": 0.4, "staircase": True},
        schedules.ExponentialDecay(0.1, 7, 0.4, staircase=True),
    ),
    (
        {"name": "inverse_time_decay", "decay_steps": 5, "decay_rate": 0.5},
        schedules.InverseTimeDecay(0.1, 5, 0.5),
    ),
    ({"name": "polynomial_decay", "decay_steps": 20}, schedules.PolynomialDecay(0.1, 20)),
    (
        {"name": "polynomial_decay", "decay_steps": 6, "power": 1.7, "cycle": True},
        schedules.PolynomialDecay(0.1, 6, power=1.7, cycle=True),
    ),
    (
        {"name": "polynomial_decay", "decay_steps": 6, "power": 0.5, "end_learning_rate": 0.2},
        schedules.PolynomialDecay(0.1, 6, 0.2, power=0.5),
    ),
    ({"name": "cosine_decay", "decay_steps": 25, "alpha": 0.1}, schedules.CosineDecay(0.1, 25, 0.1)),
    (
        {"name": "cosine_decay", "decay_steps": 25, "warmup_target": 0.5, "warmup_steps": 6},
        schedules.CosineDecay(0.1, 25, warmup_target=0.5, warmup_steps=6),
    ),
    (
        {"name": "cosine_decay_restarts", "first_decay_steps": 5, "t_mul": 1.5, "m_mul": 0.7},
        schedules.CosineDecayRestarts(0.1, 5, 1.5, 0.7),
    ),
    (
        {"name": "cosine_decay_restarts", "first_decay_steps": 9, "t_mul": 1.0, "m_mul": 0.5, "alpha": 0.2},
        schedules.CosineDecayRestarts(0.1, 9, 1.0, 0.5, 0.2),
    ),
    (
        {"name": "piecewise_constant_decay", "boundaries": [3, 10, 11], "values": [1.0, 0.5, 0.2, 0.1]},
        schedules.PiecewiseConstantDecay([3, 10, 11], [1.0, 0.5, 0.2, 0.1]),
    ),
]


def model() -> Any:
    keras.utils.set_random_seed(3)
    layers = [keras.layers.Dense(5, activation="tanh"), keras.layers.LayerNormalization()]
    return keras.Sequential([keras.Input((4,)), *layers, keras.layers.Dense(2, kernel_constraint="non_neg")])


def gradients(layout: Layout) -> NDArray[np.float32]:
    return np.random.default_rng(3).normal(0.0, 1.0, (STEPS, layout.trainable)).astype(np.float32)


def run(ours: Optimizer | PartOptimizers, layout: Layout, steps: NDArray[np.float32]) -> NDArray[np.float32]:
    """The trainable vector after one round over all gradients."""
    trainable, slots = tf.constant(layout.values()), tf.zeros((ours.slots, layout.trainable))
    for step, gradient in enumerate(steps, 1):
        trainable, kept = ours.step(
            layout,
            trainable,
            slots,
            Gradient(gradient),
            np.float32(ours.learning_rate),
            np.float32(step),
            np.float32(0),
        )
        slots = slots if kept is None else kept
        assert slots.shape == (ours.slots, layout.trainable)
    return np.asarray(trainable)


def run_keras(theirs: Any, layout: Layout, steps: NDArray[np.float32]) -> NDArray[np.float32]:
    for gradient in steps:
        theirs.apply(layout.split_trainable(tf.constant(gradient)), layout.trainable_variables)
    return layout.values()


def _name(value: Any) -> str:
    """Names without addresses: every process must give a test the same one."""
    return str(value)[:60] if isinstance(value, dict) else type(value).__name__


@pytest.mark.parametrize(("table", "make"), PAIRS, ids=_name)
def test_twelve_steps_on_several_variables_equal_keras(table: dict[str, Any], make: Make) -> None:
    layout = Layout(model())
    start, steps = layout.values(), gradients(layout)
    moved = run(make_optimizer(table), layout, steps)
    expected = run_keras(make(), layout, steps)
    assert np.linalg.norm(expected - start) > 1e-3
    assert relative_error(moved, expected) <= 1e-6
    assert relative_error(moved - start, expected - start) <= 1e-5


def test_several_optimizers_step_on_their_own_variables_as_in_keras() -> None:
    tables: list[dict[str, Any]] = [
        {"name": "sgd", "learning_rate": 0.2},
        {"name": "adam", "amsgrad": True, "weight_decay": 0.1, "clipnorm": 0.5},
        {"name": "rmsprop", "schedule": {"name": "exponential_decay", "decay_steps": 3, "decay_rate": 0.5}},
    ]
    makes: list[Any] = [
        optimizers.SGD(0.2),
        optimizers.Adam(amsgrad=True, weight_decay=0.1, clipnorm=0.5),
        optimizers.RMSprop(schedules.ExponentialDecay(0.001, 3, 0.5)),
    ]
    # The parts interleave, and the constraint lies in the last one.
    parts = ((0, 3), (1, 5), (2, 4))
    ours = PartOptimizers(("a", "b", "c"), tuple(make_optimizer(table) for table in tables), parts)
    assert (ours.name, ours.slots, ours.schedule) == ("sgd+adam+rmsprop", 3, "exponential_decay")
    layout = Layout(model())
    steps = gradients(layout)
    moved = run(ours, layout, steps)
    for gradient in steps:
        given = layout.split_trainable(tf.constant(gradient))
        for optimizer, part in zip(makes, parts, strict=True):
            optimizer.apply([given[n] for n in part], [layout.trainable_variables[n] for n in part])
    assert relative_error(moved, layout.values()) <= 1e-6


def test_slots_that_a_part_does_not_need_stay_zero() -> None:
    pair = (make_optimizer({"name": "sgd", "momentum": 0.5}), make_optimizer({"name": "adam"}))
    layout = Layout(model())
    ours = PartOptimizers(("a", "b"), pair, ((0, 2, 4), (1, 3, 5)))
    ones = tf.ones(layout.trainable)
    rest = (np.float32(0.01), np.float32(1))
    _, slots = ours.step(layout, ones, tf.zeros((2, layout.trainable)), Gradient(ones), *rest)
    used = [bool(np.any(part)) for part in layout.split_trainable(slots[1])]
    assert used == [False, True, False, True, False, True]
    assert all(np.any(part) for part in layout.split_trainable(slots[0]))


@pytest.mark.parametrize(("table", "make"), PAIRS, ids=_name)
def test_the_compiled_optimizer_is_taken_over(table: dict[str, Any], make: Make) -> None:
    compiled = model()
    compiled.compile(optimizer=make())
    ours, written = make_optimizer(compiled_optimizer(compiled)), make_optimizer(table)
    assert ours.learning_rate == pytest.approx(written.learning_rate)
    given = {"weight_decay": None} | ours.hyperparameters
    assert given == pytest.approx({"weight_decay": None} | written.hyperparameters)


@pytest.mark.parametrize(("table", "theirs"), SCHEDULES, ids=_name)
def test_a_schedule_equals_keras_at_each_step_of_every_round(table: dict[str, Any], theirs: Any) -> None:
    layout = Layout(model())
    rate = {} if "values" in table else {"learning_rate": 0.1}
    ours = make_optimizer({"name": "sgd", "schedule": table} | rate)
    assert (ours.learning_rate, ours.schedule) == (1.0, table["name"])
    ones = tf.ones(layout.trainable)
    for position in range(40):
        past, step = position // 4 * 4, position % 4 + 1
        moved, _ = ours.step(
            layout,
            tf.zeros(layout.trainable),
            None,
            Gradient(-ones),
            np.float32(1),
            np.float32(step),
            np.float32(past),
        )
        assert float(moved[0]) == pytest.approx(float(theirs(position)), rel=1e-5, abs=1e-8)


@pytest.mark.parametrize(("table", "theirs"), SCHEDULES, ids=_name)
def test_a_compiled_schedule_is_taken_over(table: dict[str, Any], theirs: Any) -> None:
    layout = Layout(model())
    steps = gradients(layout)
    compiled = model()
    compiled.compile(optimizer=optimizers.Adam(theirs))
    moved = run(make_optimizer(compiled_optimizer(compiled)), layout, steps)
    expected = run_keras(optimizers.Adam(theirs), layout, steps)
    assert relative_error(moved, expected) <= 1e-6


def test_restarts_are_counted_beyond_the_precision_of_a_logarithm() -> None:
    ours = make_optimizer(
        {
            "name": "sgd",
            "learning_rate": 1.0,
            "schedule": {"name": "cosine_decay_restarts", "first_decay_steps": 1, "t_mul": 2.0},
        }
    )
    assert ours.rate is not None
    # The restarts are at 2 ** n - 1.
    for n in range(1, 20):
        assert float(ours.rate(tf.constant(2.0**n - 1.0))) == pytest.approx(1.0)


@pytest.mark.parametrize("name", ["bias", "beta|gamma"])
def test_variables_are_excluded_from_weight_decay_by_name(name: str) -> None:
    layout = Layout(model())
    steps = gradients(layout)
    ours = make_optimizer({"name": "sgd", "weight_decay": 0.5, "exclude_from_weight_decay": [name]})
    theirs = optimizers.SGD(weight_decay=0.5)
    theirs.exclude_from_weight_decay(var_names=[name])
    moved = run(ours, layout, steps)
    everywhere = run(make_optimizer({"name": "sgd", "weight_decay": 0.5}), layout, steps)
    assert relative_error(moved, run_keras(theirs, layout, steps)) <= 1e-6
    assert relative_error(moved, everywhere) > 1e-4


@pytest.mark.parametrize("step", [1, 2, 10, 500, 700, 5000, 100_000])
def test_adam_corrects_its_bias_to_float32_precision(step: int) -> None:
    adam = make_optimizer({"name": "adam", "epsilon": 1e-12}).rule
    slots = (tf.ones(1), tf.ones(1))
    moved, _ = adam.update(tf.zeros(1), slots, Gradient(tf.ones(1)), np.float32(1.0), np.float32(step))
    exact = np.sqrt(1.0 - float(np.float32(0.999)) ** step) / (1.0 - float(np.float32(0.9)) ** step)
    assert -moved.numpy()[0] == pytest.approx(exact, rel=1e-6)


@pytest.mark.parametrize("name", FACTORIES)
def test_every_optimizer_is_held_to_keras(name: str) -> None:
    assert name in {table["name"] for table, _ in PAIRS}


@pytest.mark.parametrize(
    ("table", "word"),
    [
        ({"name": "muon"}, "muon"),
        ({"name": "sgd", "rho": 0.9}, "rho"),
        ({"name": "adam", "beta_1": 1.0}, "beta_1"),
        ({"name": "adam", "learning_rate": "fast"}, "learning_rate"),
        ({"name": "momentum", "nesterov": 1}, "nesterov"),
        ({"name": "sgd", "clipnorm": 1.0, "clipvalue": 1.0}, "one of clipnorm"),
        ({"name": "sgd", "gradient_accumulation_steps": 2.5}, "whole number"),
        ({"name": "sgd", "exclude_from_weight_decay": ["("]}, "no pattern"),
        ({"name": "sgd", "exclude_from_weight_decay": "bias"}, "list of names"),
        ({"name": "sgd", "schedule": "cosine_decay"}, "table"),
        ({"name": "sgd", "schedule": {"name": "cosine"}}, "cosine_decay"),
        ({"name": "sgd", "schedule": {"name": "cosine_decay"}}, "needs `decay_steps`"),
        ({"name": "sgd", "schedule": {"name": "cosine_decay", "decay_steps": 0}}, "decay_steps"),
        ({"name": "sgd", "schedule": {"name": "cosine_decay", "decay_steps": 1, "rate": 1}}, "`rate`"),
        (
            {
                "name": "sgd",
                "schedule": {"name": "piecewise_constant_decay", "boundaries": [2], "values": [1]},
            },
            "one more",
        ),
    ],
)
def test_a_wrong_optimizer_is_refused_by_name(table: dict[str, Any], word: str) -> None:
    with pytest.raises(Refusal, match=word) as caught:
        make_optimizer(table)
    assert caught.value.code == "bad-task"


def test_the_task_file_and_the_converter_know_the_same_settings() -> None:
    known = {"name", "learning_rate", "schedule", *COMMON_SETTINGS}
    assert set(task_file.OptimizerTable.__struct_fields__) == known.union(*DEFAULTS.values())
    of_schedules = [
        name for required, optional in SCHEDULE_DEFAULTS.values() for name in (*required, *optional)
    ]
    assert set(task_file.Schedule.__struct_fields__) == {"name", *of_schedules}
    hints = {
        struct: get_args(get_type_hints(struct)["name"])
        for struct in (task_file.OptimizerTable, task_file.Schedule)
    }
    assert set(hints[task_file.OptimizerTable]) == set(FACTORIES)
    assert set(hints[task_file.Schedule]) == set(SCHEDULE_DEFAULTS)


class Halving(keras.optimizers.schedules.LearningRateSchedule):  # type: ignore[misc]
    """A schedule of the owner's own."""

    def __call__(self, step: Any) -> Any:
        return 0.5**step

    def get_config(self) -> dict[str, Any]:
        return {}


@pytest.mark.parametrize(
    ("optimizer", "word"),
    [
        (optimizers.Adam(use_ema=True), "use_ema"),
        (optimizers.Muon(), "muon"),
        (optimizers.SGD(Halving()), "Halving"),
    ],
)
def test_a_compiled_optimizer_that_cannot_be_traced_is_refused(optimizer: Any, word: str) -> None:
    compiled = model()
    compiled.compile(optimizer=optimizer)
    with pytest.raises(Refusal, match=word):
        compiled_optimizer(compiled)
