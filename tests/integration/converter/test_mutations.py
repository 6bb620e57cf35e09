"""The comparison with Keras catches mistakes that the converter could make, and nothing else does."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import keras
import pytest

from converter.bundle import bundle_writer
from converter.refusal import Refusal
from tests.integration.converter.conftest import Convert
from tests.integration.converter.mutations import MUTATIONS, Mutation

pytestmark = pytest.mark.tensorflow
CAUGHT = "would not train as Keras does|Keras reads other weights"
# The short lane takes every sixth mutation, and their models.
_SHORT = list(MUTATIONS)[::6]
SAMPLED = [pytest.param(name, marks=[] if name in _SHORT else [pytest.mark.long]) for name in MUTATIONS]
_MODELS = {(m.model, str(m.settings)): name for name, m in reversed(MUTATIONS.items())}
UNALTERED = [
    pytest.param(name, marks=[] if name in _SHORT else [pytest.mark.long]) for name in _MODELS.values()
]


@pytest.fixture(autouse=True)
def seed() -> Iterator[None]:
    keras.utils.set_random_seed(3)
    yield
    keras.backend.clear_session()


def converted(convert: Convert, mutation: Mutation) -> Any:
    settings = {"loss": None, "optimizer": None} | (mutation.settings or {})
    return convert(mutation.model(), 8, **settings)


def test_there_are_forty_mutations() -> None:
    assert len(MUTATIONS) >= 40


@pytest.mark.parametrize("name", SAMPLED)
def test_a_mutation_is_caught(name: str, convert: Convert, monkeypatch: pytest.MonkeyPatch) -> None:
    MUTATIONS[name].patch(monkeypatch)
    with pytest.raises(Refusal, match=CAUGHT):
        converted(convert, MUTATIONS[name])


@pytest.mark.long
@pytest.mark.parametrize("name", MUTATIONS)
def test_without_the_comparison_a_mutation_trains_otherwise_without_a_word(
    name: str, convert: Convert, monkeypatch: pytest.MonkeyPatch
) -> None:
    MUTATIONS[name].patch(monkeypatch)
    monkeypatch.setattr(bundle_writer, "second_opinion", lambda *_: {"worst": 0.0})
    converted(convert, MUTATIONS[name])


@pytest.mark.parametrize("name", UNALTERED)
def test_without_a_mutation_every_model_converts(name: str, convert: Convert) -> None:
    checked = converted(convert, MUTATIONS[name]).manifest["checked"]
    assert checked["worst"] <= max(1e-4, 10 * checked["rounding"])
