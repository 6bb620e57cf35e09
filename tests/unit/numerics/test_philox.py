"""Random numbers and the order of examples equal TensorFlow's and the browser's."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.numerics.philox import MAX_EXAMPLES, batches, permutation, uniform, uniform_of_steps

VECTORS = Path(__file__).parents[2] / "contract" / "vectors"
TENSORFLOW = """
import json, sys
import tensorflow as tf
for seed, step, stream, n in json.loads(sys.argv[1]):
    key = tf.constant([seed, step + (stream << 32)], tf.int64)
    print(json.dumps(tf.random.stateless_uniform([n], key, alg="philox").numpy().tolist()))
"""


def _read(name: str) -> list[dict[str, Any]]:
    cases: list[dict[str, Any]] = json.loads((VECTORS / name).read_text("utf-8"))
    return cases


def test_draws_equal_the_golden_vectors() -> None:
    for case in _read("philox.json"):
        values = uniform(case["seed"], case["step"], case["stream"], len(case["values"]))
        assert values.tolist() == case["values"]


def test_draws_made_together_are_those_made_one_by_one() -> None:
    steps = [0, 7, 8, 2**32 - 1]
    together = uniform_of_steps(2**53 - 1, steps, 3, 1001)
    assert together.tolist() == [uniform(2**53 - 1, step, 3, 1001).tolist() for step in steps]


@pytest.mark.tensorflow
def test_draws_equal_tensorflow_to_the_bit() -> None:
    draws = [(0, 1, 0, 5), (7, 2, 3, 1001), (2**53 - 1, 2**31 + 5, 2**31 - 2, 7)]
    command = [sys.executable, "-c", TENSORFLOW, json.dumps(draws)]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    for draw, line in zip(draws, printed, strict=True):
        assert uniform(*draw).tolist() == json.loads(line)


def test_the_order_of_examples_equals_the_golden_vectors() -> None:
    for case in _read("batches.json"):
        walked = batches(case["seed"], case["epoch"], case["examples"], case["batch_size"])
        assert [rows.tolist() for rows in walked] == case["batches"]


@given(st.integers(0, 2**53 - 1), st.integers(1, 1000), st.integers(0, 300))
def test_every_epoch_visits_every_example_once(seed: int, epoch: int, n: int) -> None:
    assert sorted(permutation(seed, epoch, n).tolist()) == list(range(n))


def test_epochs_and_seeds_differ() -> None:
    orders = [permutation(seed, epoch, 50).tolist() for seed in (1, 2) for epoch in (1, 2)]
    assert len({tuple(order) for order in orders}) == 4


def test_places_are_evenly_likely() -> None:
    firsts = np.array([permutation(seed, 1, 4)[0] for seed in range(4000)])
    assert np.abs(np.bincount(firsts) - 1000).max() < 150


def test_too_many_examples_are_refused() -> None:
    with pytest.raises(ValueError, match="plan fewer shards"):
        permutation(1, 1, MAX_EXAMPLES + 1)
