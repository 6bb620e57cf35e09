"""Objectives that cannot be trained are refused by the key, the output or the variable that is wrong."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import keras
import pytest
from keras import layers

from converter.conversion_task import read_task
from converter.objectives.objective_tables import read_objectives
from converter.objectives.trained_parts import trained_parts, variable_names
from converter.refusal import Refusal
from tests.integration.converter.conftest import Convert
from tests.support.keras import joint_models as models

pytestmark = pytest.mark.tensorflow
MSE: dict[str, Any] = {"output": "head", "name": "mse"}


@pytest.fixture(autouse=True)
def seed() -> Iterator[None]:
    keras.utils.set_random_seed(3)
    yield
    keras.backend.clear_session()


def objective(**keys: Any) -> dict[str, Any]:
    return {"name": "one", "losses": [MSE]} | keys


TABLES: dict[str, tuple[Any, str]] = {
    "no list": (3, "must be 1 to 8 tables"),
    "single brackets": ({"losses": []}, "write two brackets on each side"),
    "an empty list": ([], "must be 1 to 8 tables"),
    "no tables": (["head"], "must be tables"),
    "an unknown key": ([objective(rate=1)], "one has the unknown key `rate`"),
    "no losses": ([objective(losses=[])], "one needs a list of losses"),
    "a loss without a name": ([objective(losses=[{"output": "head"}])], "has a loss without a `name`"),
    "a loss without an output": ([objective(losses=[{"name": "mse"}])], "the loss mse needs `output`"),
    "a loss with both": ([objective(losses=[MSE | {"outputs": ["head"]}])], "the loss mse needs `output`"),
    "an output that is no name": ([objective(losses=[{"name": "mse", "output": 1}])], "needs `output`"),
    "a weight that is no number": ([objective(losses=[MSE | {"weight": True}])], "must be a number"),
    "a target that is no input": (
        [objective(losses=[MSE | {"target": "image"}])],
        "the `target` of the loss",
    ),
    "an optimizer without a name": ([objective(optimizer={})], "has an `optimizer` that is no table"),
    "patterns that are no list": ([objective(trains="head")], "has `trains` that is no list"),
    "a long name": ([objective(name="n" * 33)], "need a `name` of at most 32"),
    "one name twice": ([objective(), objective()], "need different names"),
}


@pytest.mark.parametrize("case", TABLES)
def test_a_wrong_table_is_refused(case: str) -> None:
    value, sentence = TABLES[case]
    with pytest.raises(Refusal, match=sentence):
        read_objectives(value)


@pytest.mark.parametrize("key", ['loss = "mse"', "loss_weights = [1.0]", "class_weight = [1.0, 2.0]"])
def test_a_loss_beside_objectives_is_refused(key: str, tmp_path: Path) -> None:
    (tmp_path / "task.toml").write_text(
        f'name = "a"\n[model]\nbatch_size = 4\n{key}\n[[model.objectives]]\n'
        'losses = [{ output = "head", name = "mse" }]\n'
    )
    with pytest.raises(Refusal, match=f"cannot be combined with `{key.split(' ')[0]}`"):
        read_task(tmp_path / "task.toml")


def body_and_head() -> Any:
    x = keras.Input((4,), name="x")
    whole = keras.Input((), dtype="int32", name="whole")
    embedded = layers.Embedding(5, 4, name="table")(whole)
    body = layers.Dense(4, name="body")(layers.Add()([x, embedded]))
    outputs = {"head": layers.Dense(3, name="head")(body), "body": body}
    return keras.Model({"x": x, "whole": whole}, outputs)


def losses(**keys: Any) -> list[dict[str, Any]]:
    return [objective(losses=[MSE | keys])]


PARTS: dict[str, tuple[Any, str]] = {
    "a pattern of nothing": (
        [objective(trains=["heads"]), objective(name="two")],
        'one: `trains` has "heads", which no trainable variable matches; they lie in body, head, table',
    ),
    "a variable of none": ([objective(trains=["head", "table"])], "leave out the variable body"),
    "a variable of two": (
        [objective(trains=["head"]), objective(name="two", trains=["*/bias"]), objective(name="rest")],
        "train the variable head/bias twice, in one and two",
    ),
    "a variable of two that name none": (
        [objective(), objective(name="two")],
        "train the variable table/embeddings twice",
    ),
    "an objective of nothing": ([objective(trains=["*"]), objective(name="two")], "two trains nothing"),
    "an unknown output": (losses(output="tail"), "name the output tail; the model has body, head"),
    "an unknown loss": (losses(name="mze"), "The loss mze is not supported"),
    "an unknown setting": (losses(delta=1.0), "The loss mse has no setting `delta`"),
    "an unknown input": (losses(target="input:y"), "name the input y; the model has whole, x"),
    "an input of another shape": (
        losses(target="input:x"),
        r"compare head with the input x of float32 \[4\]",
    ),
    "an input of another kind": (losses(target="input:whole"), r"with the input whole of int32 \[\]"),
    "half a class": (
        losses(name="sparse_categorical_crossentropy", target=0.5),
        "the `target` 0.5; of head it takes a class number",
    ),
    "two kinds of labels": (
        [objective(losses=[MSE, MSE | {"name": "sparse_categorical_crossentropy"}])],
        "need two different labels of head",
    ),
    "several outputs of a plain loss": (
        [objective(losses=[{"name": "mse", "outputs": ["head", "body"]}])],
        "give the loss mse several outputs",
    ),
    "too few outputs": (losses(name="triplet"), "give the loss triplet 1 outputs where it takes 3"),
    "outputs of two shapes": (
        [objective(losses=[{"name": "kl_divergence_to_normal", "outputs": ["head", "body"]}])],
        r"outputs of different shapes \(head \[3\], body \[4\]\)",
    ),
    "a target of a function": (losses(name="mean_output", target=1.0), "`target`, which it does not take"),
    "a setting of a function": (losses(name="mean_output", margin=1.0), "the unknown setting `margin`"),
    "a margin that is no number": (
        [objective(losses=[{"name": "contrastive", "outputs": ["head", "head"], "margin": 0}])],
        "a `margin` that is no number above 0",
    ),
    "an unknown optimizer": (
        [objective(optimizer={"name": "adagad"})],
        "The optimizer adagad is not supported",
    ),
    "a loss that its variables do not change": (
        [
            objective(trains=["head"], losses=[MSE | {"output": "body"}]),
            objective(name="two", losses=[MSE]),
        ],
        "The objective one has no gradient",
    ),
    "a first rate of 0": (
        [objective(trains=["head"], optimizer={"name": "sgd", "learning_rate": 0.0}), objective(name="two")],
        "The learning rate of the first objective, one, is 0",
    ),
}


@pytest.mark.parametrize("case", PARTS)
def test_objectives_that_do_not_fit_the_model_are_refused(case: str, convert: Convert) -> None:
    objectives, sentence = PARTS[case]
    with pytest.raises(Refusal, match=sentence):
        convert(body_and_head(), loss=None, objectives=read_objectives(objectives))


def test_an_output_with_a_mask_is_refused_by_a_loss_that_adds_up_positions(convert: Convert) -> None:
    words = keras.Input((6,), dtype="int32")
    spelled = layers.Dense(2, name="head")(layers.Embedding(9, 4, mask_zero=True)(words))
    losses = [{"output": "head", "name": "mean_output"}]
    with pytest.raises(Refusal, match="give the loss mean_output an output with a mask"):
        convert(
            keras.Model(words, spelled), loss=None, objectives=read_objectives([objective(losses=losses)])
        )


def test_variables_are_named_by_their_layers_and_models() -> None:
    names = [own for (own,) in variable_names(models.adversarial())]
    assert "discriminator/" in names[-1]
    assert {name.partition("/")[0] for name in names} == {"generator", "discriminator"}
    lstm = keras.Sequential([keras.Input((3, 2)), layers.LSTM(2, name="memory"), layers.Dense(1, name="end")])
    assert variable_names(lstm)[-1] == ["end/bias"]
    assert variable_names(lstm)[0][0].startswith("memory/")


@pytest.mark.parametrize("pattern", ["discriminator", "discriminator/*", "disc*", "*/conv2d*/*"])
def test_a_pattern_is_a_glob_or_the_name_of_a_layer(pattern: str) -> None:
    model = models.adversarial()
    first, rest = trained_parts(model, read_objectives([objective(trains=[pattern]), objective(name="two")]))
    names = [variable_names(model)[number][0] for number in first]
    assert len(first) + len(rest) == len(model.trainable_variables)
    assert all(("conv2d" if "conv2d" in pattern else "discriminator") in name for name in names)


class OwnStep(keras.Model):  # type: ignore[misc]
    """A model as the Keras guides write them: with a step of its own, and no inputs."""

    def __init__(self, **keys: Any) -> None:
        super().__init__(**keys)
        self.head = layers.Dense(2)

    def call(self, x: Any) -> Any:
        return self.head(x)

    def train_step(self, data: Any) -> Any:
        return {"loss": data}


def test_an_own_train_step_is_refused_with_its_functional_equivalent(tmp_path: Path) -> None:
    from converter.validation.model_checks import check_built

    with pytest.raises(Refusal, match="has its own train_step") as refused:
        check_built(OwnStep(), "model.keras")
    for words in (
        'keras.Model(image, {"real": critic(image)',
        "[[model.objectives]]",
        "docs/how-to/train-with",
    ):
        assert words in str(refused.value)
