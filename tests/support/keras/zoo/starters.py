"""Starter models that owners begin with (converter/starter_models), for tiny data."""

from __future__ import annotations

from typing import Any

from converter.starter_models.shape import Form, StarterShape
from converter.starter_models.starters import STARTERS
from tests.support.keras.cases import Case
from tests.support.keras.recipes import Recipe
from tests.support.keras.values import Values, class_numbers, events, fractions, numbers, tokens

_TOKENS = 12
_PICTURES = StarterShape((16, 12, 3), "classes", (3,))
_ROWS = StarterShape((5,), "binary", (1,))
_SERIES = StarterShape((12, 2), "numbers", (2,))


def _texts(form: Form) -> StarterShape:
    return StarterShape((8,), form, (_TOKENS,) if form == "next" else (2,), _TOKENS)


def _case(starter: str, shape: StarterShape, x: Values, note: str) -> Case:
    loss, metrics, y = _ANSWERS[shape.form]
    name = f"starter-{starter}{'-next' * (shape.form == 'next')}"

    def build() -> Any:
        return STARTERS[starter](shape)

    recipe = Recipe(loss, {"name": "adam", "learning_rate": 0.001}, metrics)
    return Case(name, build, recipe, (x,), (y,), note=f"Starter model: {note}")


_ANSWERS: dict[Form, tuple[str, list[str], Values]] = {
    "classes": ("sparse_categorical_crossentropy", ["accuracy"], class_numbers),
    "next": ("sparse_categorical_crossentropy", ["accuracy"], class_numbers),
    "binary": ("binary_crossentropy", ["accuracy"], events),
    "numbers": ("mean_squared_error", ["mae"], numbers),
}

CASES = (
    _case("small-cnn", _PICTURES, fractions, "a small CNN for pictures"),
    _case("mobile-net", _PICTURES, fractions, "inverted residuals normalized by groups"),
    _case("table-mlp", _ROWS, numbers, "an MLP for rows of tables"),
    _case("text-gru", _texts("classes"), tokens(_TOKENS), "a GRU for texts with a class"),
    _case("text-gru", _texts("next"), tokens(_TOKENS), "a GRU for the next token"),
    _case("small-gpt", _texts("classes"), tokens(_TOKENS), "attention over texts with a class"),
    _case("small-gpt", _texts("next"), tokens(_TOKENS), "a causal GPT for the next token"),
    _case("series-forecaster", _SERIES, numbers, "dilated causal convolutions over series"),
)
