"""Builds a small GPT (Radford et al. 2019) for texts."""

from __future__ import annotations

from typing import Any

from keras import Model, layers, ops

from converter.starter_models.shape import StarterShape

_BLOCKS, _WIDTH, _HEADS = 2, 64, 4


def build(shape: StarterShape) -> Any:
    """Blocks of self-attention; predicts the next token at each place, or the class of the text.

    Only for the next token is the attention causal.
    """
    tokens = shape.input_layer()
    following = shape.form == "next"
    # Counted from the input, since a layer called on constants would be no part of the model.
    places = ops.cumsum(ops.ones_like(tokens), axis=1) - 1
    x = layers.Embedding(shape.tokens, _WIDTH, name="token")(tokens)
    x = x + layers.Embedding(shape.input[0], _WIDTH, name="place")(places)
    for number in range(1, _BLOCKS + 1):
        x = _block(x, following, f"block_{number}")
    x = layers.LayerNormalization(name="norm")(x)
    if not following:
        x = layers.GlobalAveragePooling1D(name="mean")(x)
    return Model(tokens, shape.answer(x), name="small_gpt")


def _block(x: Any, causal: bool, name: str) -> Any:
    y = layers.LayerNormalization(name=f"{name}_norm_1")(x)
    attention = layers.MultiHeadAttention(_HEADS, _WIDTH // _HEADS, name=f"{name}_attention")
    x = x + attention(y, y, use_causal_mask=causal)
    y = layers.LayerNormalization(name=f"{name}_norm_2")(x)
    y = layers.Dense(4 * _WIDTH, activation="gelu", name=f"{name}_wide")(y)
    y = layers.Dense(_WIDTH, name=f"{name}_narrow")(y)
    return x + layers.Dropout(0.1, name=f"{name}_dropout")(y)
