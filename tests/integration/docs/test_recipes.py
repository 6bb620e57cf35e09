"""The recipes of docs/contributing, followed to the letter in a copy of the repository."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import pytest

from tests.support.docs.recipes import Checkout, RecipeError, edit, recipe

RECIPES = "docs/contributing/recipes.md"
SCHEME = "docs/contributing/adding-a-scheme.md"


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    return Checkout(tmp_path / "copy")


def keeps_the_style(checkout: Checkout) -> None:
    """Runs those checks of `make lint` that take about a second."""
    checkout.run("ruff", "check", "backend", "tests/conformance")
    checkout.run("ruff", "format", "--check", "backend", "tests/conformance")
    checkout.run("python", "-m", "scripts.translations.command")


AVERAGE = """
import tomllib
import numpy as np
from backend.formats.task_file import parse_task
from backend.numerics.aggregation.part_mean import reduce_part
from backend.numerics.precision import decode, encode
from tests.support.tasks.tiny_task import task_toml

table = tomllib.loads(task_toml("tiny", {"scheme": "decentralized", "averaging": '{ reducer = "median" }'}))
del table["security"]
reducer = parse_task(table, "here").coordination.averages.reducer
pieces = [encode(np.array([value, -value], np.float32), "float32") for value in (1, 2, 1e30)]
print(reducer, decode(reduce_part(pieces, [1.0] * 3, 2, "float32", reducer), 2, "float32"))
"""


@pytest.mark.long
def test_an_aggregator_is_accepted_in_a_task_file_and_averages_alike_in_both_languages(
    checkout: Checkout,
) -> None:
    checkout.follow(recipe(RECIPES, "An aggregator"))
    assert checkout.run("python", "-c", AVERAGE) == "median [ 2. -2.]\n"
    assert '"median"' in (checkout.folder / "tests/contract/vectors/averaging.json").read_text("utf-8")
    numerics = "core/numerics/aggregation"
    checkout.run(
        "npx", "vitest", "run", "--coverage.enabled=false", f"tests/unit/webapp/{numerics}/part-mean.test.ts"
    )
    checkout.run("npx", "biome", "check", "--error-on-warnings", f"webapp/static/src/{numerics}")
    checkout.run("npx", "tsc", "--build", "webapp/static/src/core")
    keeps_the_style(checkout)


# `tf.math.rint` in a layer of the owner's, converted as `minga convert --custom` does it.
LAYER = """
import keras
import tensorflow as tf


class Rint(keras.layers.Layer):
    def call(self, x):
        return x + tf.stop_gradient(tf.math.rint(x) - x)
"""
MODEL = """
import keras
from layers import Rint
model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3), Rint(), keras.layers.Dense(2)])
model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
model.save("model.keras")
"""
TASK = """
name = "rint"
[model]
file = "model.keras"
bundle = "bundle"
batch_size = 4
[data]
source = "volunteer"
preprocess = { kind = "array" }
[coordination]
scheme = "federated"
rounds = 1
"""
OP = """
import "@tensorflow/tfjs-backend-cpu";
import { setBackend, tensor1d } from "@tensorflow/tfjs-core";
import { expect, test } from "vitest";
import { Graph } from "../../../../webapp/static/src/engine/graph";
import { registerOps } from "../../../../webapp/static/src/engine/ops";

test("Rint is TensorFlow's", async () => {
  await setBackend("cpu");
  registerOps();
  const attr = { T: { type: "DT_FLOAT" } };
  const node = [
    { name: "x", op: "Placeholder", attr: { dtype: { type: "DT_FLOAT" } } },
    { name: "y", op: "Rint", input: ["x"], attr },
  ];
  const named = (tensor: string) => ({ name: tensor, tensor, shape: [6], dtype: "float32" as const });
  const files = { topology: { node, versions: {} }, weightSpecs: [], weights: [] };
  const graph = await Graph.load({ inputs: [named("x")], outputs: [named("y")] }, files);
  const y = graph.run({ x: tensor1d([VALUES]) }).y;
  expect([...(y?.dataSync() ?? [])]).toEqual([EXPECTED]);
});
"""
VALUES = [0.5, 1.5, -2.5, 0.49, 7.0, -8.7]


@pytest.mark.long
@pytest.mark.tensorflow
def test_an_op_converts_and_computes_what_tensorflow_does(checkout: Checkout) -> None:
    checkout.follow(recipe(RECIPES, "An op"))
    folder = checkout.folder
    (folder / "layers.py").write_text(LAYER)
    (folder / "task.toml").write_text(TASK)
    # Expected values come from the same process, for starting TensorFlow takes seconds.
    rounded = "import tensorflow as tf\nprint(*tf.raw_ops.Rint(x=" + repr(VALUES) + ").numpy())"
    expected = [float(word) for word in checkout.run("python", "-c", MODEL + rounded).split()]
    convert = ("--task", "task.toml", "--custom", "layers.py", "-o", "bundle")
    checkout.run("python", "-m", "backend", "convert", "model.keras", *convert)
    assert '"Rint"' in (folder / "bundle/bundle.json").read_text("utf-8")
    test = OP.replace("VALUES", str(VALUES)[1:-1]).replace("EXPECTED", str(expected)[1:-1])
    (folder / "tests/unit/webapp/engine/rint.test.ts").write_text(test)
    checkout.run("npx", "vitest", "run", "--coverage.enabled=false", "tests/unit/webapp/engine/rint.test.ts")
    checkout.run("npx", "biome", "check", "--error-on-warnings", "webapp/static/src/engine/ops")


PAGE = """
import asyncio, sys
from pathlib import Path
from starlette.testclient import TestClient
from backend.settings import read_settings
from backend.web.app import build_app
from tests.support.tasks.tiny_task import write_task

folder = Path(sys.argv[1])
write_task(folder / "tasks" / "tiny", **eval(sys.argv[2]))
app = build_app(read_settings({"data_dir": folder / "data", "tasks": [folder / "tasks"]}, {}))
with TestClient(app) as client:
    for words in sys.argv[3:]:
        path, language = words.split(",")
        answer = client.get(path, headers={"Accept-Language": language})
        print(answer.status_code, answer.text)
"""


@pytest.mark.long
def test_a_page_is_served_in_each_language_and_linked(checkout: Checkout, tmp_path: Path) -> None:
    checkout.follow(recipe(RECIPES, "A page"))
    page = checkout.run("python", "-c", PAGE, str(tmp_path), "{}", "/about,en", "/about,es", "/,en")
    for text in ("It trains 1 model.", "Entrena 1 modelo.", '<a href="/about">About this server</a>'):
        assert text in page
    assert re.findall(r"^\d+", page, re.MULTILINE) == ["200"] * 3
    checkout.run("python", "-m", "pytest", "-q", "--noconftest", "tests/integration/docs/test_http.py")
    checkout.run(
        "npx", "biome", "check", "--error-on-warnings", "webapp/static/src/entries", "vite.config.ts"
    )
    keeps_the_style(checkout)


def test_a_command_shows_in_the_help_and_runs(checkout: Checkout) -> None:
    checkout.follow(recipe(RECIPES, "A command"))
    assert "print the address of a file's blob" in checkout.run("python", "-m", "backend", "--help")
    wanted = hashlib.sha256((checkout.folder / "LICENSE").read_bytes()).hexdigest()
    assert checkout.run("python", "-m", "backend", "hash", "LICENSE") == f"{wanted}\n"
    with pytest.raises(RecipeError, match="There is no file nothing"):
        checkout.run("python", "-m", "backend", "hash", "nothing")
    checkout.run("python", "-m", "pytest", "-q", "--noconftest", "tests/integration/docs/test_commands.py")
    keeps_the_style(checkout)


@pytest.mark.long
def test_a_scheme_is_hosted_with_a_training_page(checkout: Checkout, tmp_path: Path) -> None:
    checkout.follow(recipe(SCHEME, "A scheme that is hosted"))
    plan = "{'scheme': 'cyclic'}"
    page = checkout.run(
        "python", "-c", PAGE, str(tmp_path), plan, "/tasks/tiny/train,es", "/api/tasks/tiny,en"
    )
    assert re.findall(r"^\d+", page, re.MULTILINE) == ["200"] * 2
    assert '"scheme":"cyclic"' in page
    checkout.run("python", "-m", "pytest", "-q", "--noconftest", "tests/unit/server/test_schemes.py")
    keeps_the_style(checkout)
    checkout.run("lint-imports", "--no-logo")
    checkout.run("python", "scripts/house.py", "--check")


def test_an_edit_needs_its_old_lines_exactly_once() -> None:
    assert edit("a\nb\nc\n", " a\n-b\n+d\n@@\n c\n+e\n") == "a\nd\nc\ne\n"
    for text in ("b\n", "a\na\n"):
        with pytest.raises(RecipeError, match="exactly once"):
            edit(text, " a\n+b\n")
