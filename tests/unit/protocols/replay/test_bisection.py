"""The bisection between two traces, question by question."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable

import numpy as np
import pytest

from backend.protocols.replay.bisection import (
    TRANSITIONS,
    AskOps,
    AskReferee,
    AskStates,
    Bisection,
    Finding,
    Phase,
)
from backend.protocols.replay.traces import StepLayout, start_hashes, tensor_hash
from tests.support.protocols.replayed_training import BEGIN, TracingParty, bisect, flip, honest, layout

STEPS = 20


@pytest.fixture
def step() -> StepLayout:
    return layout(random.Random(1), 6)


def party(step: StepLayout, at: int = 0, tensor: str = "") -> TracingParty:
    """A party that tampers with a tensor of one step."""
    return TracingParty(
        step, STEPS, lambda number, name, value: flip(value) if (number, name) == (at, tensor) else value
    )


def test_the_op_that_was_tampered_with_is_named(step: StepLayout) -> None:
    found = bisect({"one": party(step, 13, "train/op_5"), "other": party(step)})
    assert found == Finding(13, "train/op_5", ("one",), "op")


def test_data_of_its_own_is_named(step: StepLayout) -> None:
    assert bisect({"one": party(step), "other": party(step, 1, "train/x")}).wrong == ("other",)


def test_two_liars_at_the_same_op_are_both_wrong(step: StepLayout) -> None:
    tampers = [lambda n, t, v, k=k: flip(v + k) if (n, t) == (4, "train/op_5") else v for k in (b"1", b"2")]
    one, other = (TracingParty(step, STEPS, tamper) for tamper in tampers)
    assert bisect({"one": one, "other": other}) == Finding(4, "train/op_5", ("one", "other"), "op")


def test_values_that_no_op_computed_are_named(step: StepLayout) -> None:
    """A party that changes its weights after a step contradicts its own ops."""
    liar = TracingParty(
        step, STEPS, honest, lambda n, v: {**v, "trainable": flip(v["trainable"])} if n == 7 else v
    )
    found = bisect({"one": party(step), "other": liar})
    assert found == Finding(7, "apply/trainable", ("other",), "state")


def test_an_update_that_its_own_values_contradict_is_named(step: StepLayout) -> None:
    one, other = party(step), party(step)
    found = bisect({"one": one, "other": other}, {"one": one.update, "other": flip(other.update)})
    assert found == Finding(STEPS, None, ("other",), "update")


def test_answers_of_another_form_are_named(step: StepLayout) -> None:
    one, other = party(step), party(step, 3, "train/op_5")
    other.states[-1] = {"trainable": b""}
    assert bisect({"one": one, "other": other}) == Finding(STEPS, None, ("other",), "form")
    other = party(step, 3, "train/op_5")
    other.ops[2].pop()
    assert bisect({"one": one, "other": other}) == Finding(3, None, ("other",), "form")


def test_equal_updates_need_no_bisection(step: StepLayout) -> None:
    with pytest.raises(ValueError, match="different updates"):
        Bisection(STEPS, BEGIN, step, {"one": b"1", "other": b"1"})


def phases(step: StepLayout) -> dict[Phase, Bisection]:
    """A bisection in each phase."""
    one, other = party(step), party(step, STEPS, "train/op_5")
    machine = Bisection(STEPS, BEGIN, step, {"one": one.update, "other": other.update})
    found = {}
    effect = machine.asked
    while True:
        found[machine.phase] = copy.copy(machine)
        match effect:
            case AskStates(number):
                effect = machine.states({"one": one.states[number - 1], "other": other.states[number - 1]})
            case AskOps(number):
                effect = machine.ops({"one": one.ops[number - 1], "other": other.ops[number - 1]})
            case AskReferee():
                effect = machine.ruling(one.ops[-1][step.index["train/op_5"]])
            case Finding():
                return found


def test_an_answer_in_another_phase_is_refused_and_changes_nothing(step: StepLayout) -> None:
    answers: dict[Phase, Callable[[Bisection], object]] = {
        Phase.STATES: lambda machine: machine.states({"one": BEGIN, "other": BEGIN}),
        Phase.OPS: lambda machine: machine.ops({"one": [], "other": []}),
        Phase.REFEREE: lambda machine: machine.ruling(b""),
    }
    found = phases(step)
    assert found.keys() == TRANSITIONS.keys()
    for phase, machine in found.items():
        before = copy.copy(vars(machine))
        for asked, answer in answers.items():
            if asked is not phase:
                with pytest.raises(ValueError, match="the bisection waits for"):
                    answer(machine)
        assert vars(machine) == before


def test_answers_of_another_party_are_refused(step: StepLayout) -> None:
    machine = Bisection(STEPS, BEGIN, step, {"one": b"1", "other": b"2"})
    with pytest.raises(ValueError, match="waits for states of one, other"):
        machine.states({"one": BEGIN, "third": BEGIN})


def test_the_values_before_the_first_step_are_the_weights_and_slots_of_zeros() -> None:
    weights = np.arange(6, dtype=np.float32)
    hashes = start_hashes(weights, 4, 2)
    assert hashes == {
        "trainable": tensor_hash(weights[:4]),
        "state": tensor_hash(weights[4:]),
        "slots": tensor_hash(np.zeros((2, 4), np.float32)),
    }
    assert start_hashes(weights, 6, 0).keys() == {"trainable"}


def test_a_tensors_hash_is_that_of_the_worker() -> None:
    # tests/unit/webapp/workers/training/tracing/tensor-hash.test.ts has the same.
    value = np.arange(1, 7, dtype=np.float32).reshape(2, 3)
    assert tensor_hash(value).hex() == "8854862d401c78c8cab0e6445b0a49448d08c18e8b49b92dca45c989c653ef37"
