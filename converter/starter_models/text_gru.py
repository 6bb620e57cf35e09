"""Builds a gated recurrent network (GRU, Cho et al. 2014) for texts."""

from __future__ import annotations

from typing import Any

from keras import Model, layers

from converter.starter_models.shape import StarterShape

_WIDTH = 64
# Steps of a text with a class that the recurrence reads: training unrolls it.
_MOST_STEPS = 32


def build(shape: StarterShape) -> Any:
    """Reads tokens in their order; predicts the class of the text, or the next token at each place."""
    tokens = shape.input_layer()
    x = layers.Embedding(shape.tokens, _WIDTH, name="token")(tokens)
    following = shape.form == "next"
    # Several bytes together become one step; the next token may not depend on later ones.
    stride = 1 if following else -(-shape.input[0] // _MOST_STEPS)
    if stride > 1:
        x = layers.Conv1D(_WIDTH, stride, stride, padding="same", activation="relu", name="pieces")(x)
    x = layers.GRU(_WIDTH, return_sequences=following, name="gru")(x)
    x = layers.Dropout(0.1, name="dropout")(x)
    return Model(tokens, shape.answer(x), name="text_gru")
