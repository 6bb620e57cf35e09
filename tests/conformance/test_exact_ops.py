"""The cases of the op suite have the same bits in every engine of the class `exact`."""

from __future__ import annotations

import asyncio
import base64
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks import exactness
from benchmarks.support.exact_ops import Answers, compare, find_differences, in_node
from tests.conformance.ops.expected import expected
from tests.conformance.ops.families import FAMILIES
from tests.support.exact.arm64 import arm64_node

CASES = {"binary": [{"label": "Add"}, {"label": "Sqrt"}]}
QUIET_NAN, NEGATIVE_NAN = 0x7FC00000, 0xFFC00000


def answers(*words: int, shape: tuple[int, ...] = (1,)) -> Answers:
    """Returns one answer for each case, whose value has these 32 bits."""
    outputs: list[Any] = [
        [{"shape": shape, "dtype": "float32", "data": base64.b64encode(np.uint32(word).tobytes()).decode()}]
        for word in words
    ]
    return {"binary": outputs}


def test_a_single_bit_is_a_difference_and_the_sign_of_nan_is_none() -> None:
    one = answers(0x3F800000, QUIET_NAN)
    assert find_differences(CASES, [one, answers(0x3F800000, NEGATIVE_NAN)]) == []
    assert find_differences(CASES, [one, answers(0x3F800001, QUIET_NAN)]) == ["Add"]
    assert find_differences(CASES, [one, answers(0x3F800000, 0x80000000)]) == ["Sqrt"]


def test_another_shape_is_a_difference_and_so_is_a_case_that_does_not_run() -> None:
    one = answers(0, 0)
    assert find_differences(CASES, [one, answers(0, 0, shape=(1, 1))]) == ["Add", "Sqrt"]
    failed: Answers = {"binary": ["There is no such op.", one["binary"][1]]}
    assert find_differences(CASES, [failed, failed]) == ["Add"]


@pytest.mark.long
@pytest.mark.tensorflow
def test_no_op_has_other_bits_in_another_engine(tmp_path: Path) -> None:
    with ExitStack() as stack:
        engines = exactness.start(exactness.USUAL, stack, tmp_path)
        found = compare(engines.browsers, engines.nodes)
    assert found["op_engines"] == list(exactness.USUAL)
    assert found["op_cases"] > 3000
    assert found["different_ops"] == []


@pytest.mark.long
@pytest.mark.tensorflow
@pytest.mark.requires("arm64")
def test_no_op_has_other_bits_on_an_emulated_arm64(tmp_path: Path) -> None:
    cases = expected(tuple(FAMILIES))
    here, there = (asyncio.run(in_node(node, cases)) for node in (None, arm64_node(tmp_path)))
    assert find_differences(cases, [here, there]) == []
