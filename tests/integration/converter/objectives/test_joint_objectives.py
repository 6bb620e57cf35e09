"""Models with several objectives train as an own `train_step` of Keras does."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator
from dataclasses import replace
from typing import Any

import keras
import numpy as np
import pytest
from _pytest.mark import ParameterSet
from keras import layers

from converter.objectives import joint_objectives, output_functions
from converter.objectives.objective_tables import read_objectives
from converter.optimizers.part_optimizers import PartOptimizers
from converter.refusal import Refusal
from converter.tracing import tracer
from tests.integration.converter.conftest import Convert
from tests.support.keras import joint_models as models

pytestmark = pytest.mark.tensorflow
L2 = 0.01


@pytest.fixture(autouse=True)
def seed() -> Iterator[None]:
    keras.utils.set_random_seed(3)
    yield
    keras.backend.clear_session()


def short_unless(name: str, long: Container[str]) -> ParameterSet:
    """A parameter that the short lane has unless its name is among the long ones."""
    return pytest.param(name, marks=pytest.mark.long if name in long else ())


def converted(convert: Convert, model: Any, objectives: Any, **settings: Any) -> Any:
    return convert(model, 8, loss=None, objectives=read_objectives(objectives), **settings)


def with_optimizers(*optimizers: dict[str, Any]) -> list[dict[str, Any]]:
    pairs = zip(models.ADVERSARIAL, optimizers, strict=True)
    return [{**objective, "optimizer": optimizer} for objective, optimizer in pairs]


def critic() -> Any:
    """A Wasserstein GAN of a table, whose critic is bounded by a constraint; regularized and normalized."""
    row = keras.Input((6,), name="row")
    bounded = {"kernel_constraint": keras.constraints.MaxNorm(0.3), "kernel_regularizer": "l2"}
    judge = keras.Sequential(
        [keras.Input((6,)), layers.Dense(8, activation="tanh", **bounded), layers.Dense(1)], name="critic"
    )
    maker = keras.Sequential(
        [keras.Input((6,)), layers.Dense(6, activity_regularizer="l2"), layers.BatchNormalization()],
        name="maker",
    )
    fake = judge(maker(models.noise_like(row, "noise")))
    return keras.Model(row, {"real": judge(row), "fake": fake})


def wasserstein(sign: float, name: str) -> dict[str, Any]:
    return {"output": name, "name": "mean_output", "weight": sign}


CRITIC = [
    {
        "name": "critic",
        "trains": ["critic/*"],
        "optimizer": {"name": "rmsprop", "learning_rate": 0.05},
        "losses": [wasserstein(1.0, "fake"), wasserstein(-1.0, "real")],
    },
    {
        "name": "maker",
        "trains": ["maker/*"],
        "optimizer": {"name": "sgd", "learning_rate": 0.1, "momentum": 0.9},
        "losses": [wasserstein(-1.0, "fake")],
    },
]


def shared_labels() -> Any:
    """Two heads on one body, of which each learns its own label, and the body from one of them."""
    x = keras.Input((5,), name="x")
    body = layers.Dense(7, activation="relu", name="body")(x)
    first = layers.Dense(3, activation="softmax", name="first")(body)
    second = layers.Dense(2, name="second")(body)
    return keras.Model(x, [first, second])


SHARED = [
    {
        "name": "heads",
        "trains": ["first", "second/kernel", "second/bias"],
        "losses": [
            {"output": "second", "name": "huber", "delta": 0.3, "weight": 0.5},
            {"output": "first", "name": "sparse_categorical_crossentropy"},
        ],
    },
    {"name": "body", "losses": [{"output": "first", "name": "sparse_categorical_crossentropy"}]},
]


def tokens() -> Any:
    """Tells the kind of a text and spells it; one output is a number for each example, without an axis."""
    words = keras.Input((6,), dtype="int32", name="words")
    embedded = layers.Embedding(9, 4, name="table")(words)
    spelled = layers.Dense(9, activation="softmax", name="spelled")(embedded)
    kind = layers.Dense(3, activation="softmax", name="kind")(layers.GlobalAveragePooling1D()(embedded))
    size = layers.Flatten()(layers.Dense(1, name="size")(embedded))
    outputs = {"spelled": spelled, "kind": kind, "size": keras.ops.sum(size, axis=-1), "sizes": size}
    return keras.Model(words, outputs)


TOKENS = [
    {
        "losses": [
            {"output": "spelled", "name": "sparse_categorical_crossentropy", "target": "input:words"},
            {"output": "kind", "name": "sparse_categorical_crossentropy", "target": 2, "weight": 0.1},
            {"output": "size", "name": "mean_squared_error"},
            {"output": "size", "name": "mean_output", "weight": -0.1},
        ]
    }
]

CASES: dict[str, tuple[Callable[[], Any], Any, dict[str, Any]]] = {
    "a variational autoencoder": (models.autoencoder, models.AUTOENCODER, {}),
    "an adversarial pair": (models.adversarial, models.ADVERSARIAL, {}),
    "triplets": (lambda: models.siamese(("anchor", "positive", "negative")), models.TRIPLET, {}),
    "pairs": (lambda: models.siamese(("left", "right")), models.CONTRASTIVE, {}),
    "a critic": (critic, CRITIC, {}),
    "heads and a body": (shared_labels, SHARED, {"metrics": {"first": ["accuracy"], "second": ["mae"]}}),
    "tokens and single numbers": (
        tokens,
        TOKENS,
        {"metrics": {"spelled": ["accuracy"], "sizes": ["mae"], "kind": ["accuracy"]}},
    ),
    "one optimizer for all": (
        models.adversarial,
        [{k: v for k, v in table.items() if k != "optimizer"} for table in models.ADVERSARIAL],
        {"optimizer": {"name": "adamw", "learning_rate": 0.01, "global_clipnorm": 0.1}},
    ),
    "schedules, clipping, decay and accumulation": (
        models.adversarial,
        with_optimizers(
            {"name": "sgd", "clipnorm": 0.05, "schedule": {"name": "cosine_decay", "decay_steps": 10}},
            {"name": "adam", "weight_decay": 0.1, "gradient_accumulation_steps": 2, "amsgrad": True},
        ),
        {"metrics": {"real": ["binary_accuracy"], "fake": ["binary_accuracy"]}},
    ),
}


# Other tests convert these models with the same losses, or train them for many steps.
LONG_CASES = ("an adversarial pair", "one optimizer for all")


@pytest.mark.parametrize("case", [short_unless(case, LONG_CASES) for case in CASES])
def test_a_bundle_with_objectives_is_what_keras_computes(case: str, convert: Convert) -> None:
    build, objectives, settings = CASES[case]
    bundle = converted(convert, build(), objectives, **settings)
    assert bundle.manifest["checked"]["worst"] <= 1e-4
    assert {"gradient", "vector", "loss", "outputs"} <= bundle.manifest["checked"]["differences"].keys()


def test_the_manifest_names_the_objectives(convert: Convert) -> None:
    metrics = {"real": ["binary_accuracy"], "fake": ["binary_accuracy"]}
    manifest = converted(convert, models.adversarial(), models.ADVERSARIAL, metrics=metrics).manifest
    assert [metric["name"] for metric in manifest["metrics"]] == [
        "discriminator_loss",
        "discriminator_real_loss",
        "discriminator_fake_loss",
        "generator_loss",
        "fake_binary_accuracy",
        "real_binary_accuracy",
    ]
    assert manifest["labels"] == []
    assert manifest["optimizer"]["name"] == "adam+adam"
    assert (manifest["optimizer"]["learning_rate"], manifest["optimizer"]["slots"]) == (0.002, 2)
    assert manifest["optimizer"]["hyperparameters"]["generator.beta_1"] == 0.5


def test_labels_stand_in_the_order_of_the_outputs_whichever_objective_comes_first(convert: Convert) -> None:
    manifest = converted(convert, shared_labels(), SHARED).manifest
    assert [(label["name"], label["shape"]) for label in manifest["labels"]] == [
        ("first", []),
        ("second", [2]),
    ]
    assert [output["loss"] for output in manifest["outputs"]] == ["sparse_categorical_crossentropy", "huber"]


def test_a_plans_learning_rate_scales_all_optimizers(convert: Convert) -> None:
    optimizers = ({"name": "sgd", "learning_rate": 0.5}, {"name": "sgd", "learning_rate": 0.25})
    bundle = converted(convert, models.adversarial(), with_optimizers(*optimizers))
    size = bundle.manifest["parameters"]["trainable"]
    fed = {"trainable": np.zeros(size), "gradient": np.ones(size), "step": 1, "past_steps": 0}
    moved = bundle.run("apply", {**fed, "learning_rate": 0.1})["new_trainable"]
    names = [entry["name"] for entry in bundle.manifest["layout"] if entry["trainable"]]
    assert len(names) == 12
    assert sorted(set(np.round(moved, 6))) == [np.float32(-0.1), np.float32(-0.05)]


def test_a_regularization_reaches_each_variable_once(convert: Convert) -> None:
    x = keras.Input((5,), name="x")
    body = layers.Dense(7, name="body", kernel_regularizer=keras.regularizers.L2(L2))(x)
    head = layers.Dense(2, name="head", kernel_regularizer=keras.regularizers.L2(L2))(body)
    nothing = [{"output": "head", "name": "mean_output", "weight": 0.0}]
    objectives = [
        {"name": "one", "trains": ["body"], "losses": nothing},
        {"name": "other", "losses": nothing},
    ]
    bundle = converted(convert, keras.Model(x, head), objectives)
    fed = {"trainable": bundle.weights, "x_0": np.ones((8, 5)), "sample_weight": np.ones(8)}
    out = bundle.run("train", fed)
    layout = bundle.manifest["layout"]
    kernels = np.concatenate([np.full(np.prod(e["shape"]), "kernel" in e["name"]) for e in layout])
    np.testing.assert_allclose(out["gradient"], 2 * L2 * bundle.weights * kernels, rtol=1e-5, atol=1e-7)
    assert out["loss"] == pytest.approx(L2 * np.square(bundle.weights * kernels).sum(), rel=1e-5)


def test_a_step_in_slices_is_the_same_step(convert: Convert) -> None:
    bundle = converted(convert, models.siamese(("left", "right")), models.CONTRASTIVE, slice=4)
    generator = np.random.default_rng(1)
    x = {f"x_{i}": generator.normal(size=(8, 10)) for i in range(2)}
    rows = {**x, "y_0": generator.integers(0, 2, 8), "sample_weight": np.ones(8)}
    whole = bundle.run("train", {"trainable": bundle.weights, **rows})
    parts = [
        bundle.run(
            "train_slice",
            {"trainable": bundle.weights, **{key: array[i : i + 4] for key, array in rows.items()}},
        )
        for i in (0, 4)
    ]
    for key in ("gradient", "loss"):
        mean = np.mean([part[key] for part in parts], axis=0)
        np.testing.assert_allclose(whole[key], mean, rtol=1e-4, atol=1e-6)


MISTAKES: dict[str, tuple[str, Any, str, Callable[[Any], Any]]] = {
    "all variables by the first loss": (
        "an adversarial pair",
        tracer,
        "_gradients",
        lambda own: lambda tape, losses, variables, parts: own(tape, [losses[0]] * 2, variables, parts),
    ),
    "weights that are ignored": (
        "a variational autoencoder",
        joint_objectives,
        "weighted_sum",
        lambda own: lambda losses, _weights: own(losses, [1.0] * len(losses)),
    ),
    "one rate for all": (
        "an adversarial pair",
        PartOptimizers,
        "step",
        lambda own: (
            lambda self, *given, **named: own(
                replace(self, optimizers=tuple(replace(o, learning_rate=0.002) for o in self.optimizers)),
                *given,
                **named,
            )
        ),
    ),
    "parts in the wrong order": (
        "a critic",
        PartOptimizers,
        "step",
        lambda own: (
            lambda self, *given, **named: own(
                replace(self, optimizers=self.optimizers[::-1]), *given, **named
            )
        ),
    ),
    "a margin that is ignored": (
        "triplets",
        output_functions,
        "triplet",
        lambda own: lambda anchor, positive, negative, **_: own(anchor, positive, negative, 0.2),
    ),
    "a target of 0": (
        "an adversarial pair",
        joint_objectives.LossTarget,
        "tensor",
        lambda own: lambda self, *given: own(replace(self, constant=0.0), *given),
    ),
}


# One mistake in gradients, one in weights, one in optimizers and one in losses are caught in the short lane.
LONG_MISTAKES = ("one rate for all", "a target of 0")


@pytest.mark.parametrize("mistake", [short_unless(mistake, LONG_MISTAKES) for mistake in MISTAKES])
def test_the_comparison_with_keras_catches_a_mistake(
    mistake: str, convert: Convert, monkeypatch: pytest.MonkeyPatch
) -> None:
    case, owner, name, make = MISTAKES[mistake]
    monkeypatch.setattr(owner, name, make(getattr(owner, name)))
    if owner is output_functions:
        kind = replace(output_functions.FUNCTIONS[name], function=getattr(owner, name))
        monkeypatch.setitem(output_functions.FUNCTIONS, name, kind)
    build, objectives, settings = CASES[case]
    with pytest.raises(Refusal, match="would not train as Keras does"):
        converted(convert, build(), objectives, **settings)


def test_tables_of_each_part_are_squared_as_its_own_optimizer_does(convert: Convert) -> None:
    words = keras.Input((6,), dtype="int32", name="words")
    parts = [
        keras.Sequential(
            [keras.Input((6,), dtype="int32"), layers.Embedding(4, 3), layers.Flatten(), layers.Dense(2)],
            name=name,
        )
        for name in ("first", "second", "third")
    ]
    model = keras.Model(words, {part.name: part(words) for part in parts})
    optimizers = [{"name": "adamax"}, {"name": "sgd", "learning_rate": 0.1}, {"name": "adam"}]
    objectives = [
        {
            "name": part.name,
            "trains": [f"{part.name}/*"],
            "optimizer": optimizer,
            "losses": [{"output": part.name, "name": "mse"}],
        }
        for part, optimizer in zip(parts, optimizers, strict=True)
    ]
    manifest = converted(convert, model, objectives, optimizer=None).manifest
    (squares,) = [s for s in manifest["signatures"]["train"]["outputs"] if s["name"] == "row_squares"]
    assert squares["shape"] == [2 * 4 * 3]
    assert manifest["checked"]["worst"] <= 1e-4
