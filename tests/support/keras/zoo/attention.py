"""Attention and transformers."""

from __future__ import annotations

from typing import Any

import keras

from tests.support.keras.cases import Case
from tests.support.keras.recipes import Recipe
from tests.support.keras.values import class_numbers, events, numbers, sentences, tokens

layers = keras.layers


def _feed_forward(x: Any, width: int) -> Any:
    y = layers.Dense(2 * width, activation="gelu")(layers.LayerNormalization()(x))
    return x + layers.Dense(width)(y)


def gpt() -> Any:
    """A causal transformer that predicts the next token at every position (Radford et al. 2019)."""
    length, width, vocabulary = 6, 8, 12
    ids = keras.Input((length,), dtype="int32")
    x = layers.Embedding(vocabulary, width)(ids)
    x = x + layers.Embedding(length, width)(keras.ops.arange(length))
    for _ in range(2):
        y = layers.LayerNormalization()(x)
        x = x + layers.MultiHeadAttention(2, width // 2)(y, y, use_causal_mask=True)
        x = _feed_forward(x, width)
    x = layers.LayerNormalization()(x)
    return keras.Model(ids, layers.Dense(vocabulary, activation="softmax")(x))


def encoder_decoder() -> Any:
    """Encoder and decoder with cross-attention (Vaswani et al. 2017); padding is masked on both sides."""
    width, vocabulary = 8, 10
    source = keras.Input((5,), dtype="int32", name="source")
    target = keras.Input((4,), dtype="int32", name="target")
    x = layers.Embedding(vocabulary, width, mask_zero=True)(source)
    x = layers.LayerNormalization()(x + layers.MultiHeadAttention(2, 4)(x, x))
    encoded = _feed_forward(x, width)
    y = layers.Embedding(vocabulary, width, mask_zero=True)(target)
    y = layers.LayerNormalization()(y + layers.MultiHeadAttention(2, 4)(y, y, use_causal_mask=True))
    y = layers.LayerNormalization()(y + layers.MultiHeadAttention(2, 4)(y, encoded))
    y = _feed_forward(y, width)
    return keras.Model([source, target], layers.Dense(vocabulary, activation="softmax")(y))


def masked_attention() -> Any:
    """Self-attention over embedded words under their mask, then the mean of what is not masked."""
    ids = keras.Input((6,), dtype="int32")
    x = layers.Embedding(12, 8, mask_zero=True)(ids)
    x = layers.Add()([x, layers.MultiHeadAttention(2, 4)(x, x)])
    x = layers.GlobalAveragePooling1D()(layers.LayerNormalization()(x))
    return keras.Model(ids, layers.Dense(1, activation="sigmoid")(x))


def given_mask() -> Any:
    """An attention mask that is an input of the model."""
    values = keras.Input((5, 6), name="values")
    mask = keras.Input((5, 5), name="mask")
    x = layers.MultiHeadAttention(2, 4, dropout=0.1)(values, values, attention_mask=mask > 0.5)
    return keras.Model([values, mask], layers.Dense(2)(layers.Flatten()(x)))


def dot_attention() -> Any:
    """Attention and AdditiveAttention layers (Luong et al. 2015, Bahdanau et al. 2015)."""
    queries = keras.Input((4, 6), name="queries")
    values = keras.Input((5, 6), name="values")
    projected = layers.Dense(6)(values)
    first = layers.Attention(use_scale=True)([queries, projected])
    second = layers.AdditiveAttention()([queries, projected])
    x = layers.GlobalMaxPooling1D()(layers.Concatenate()([first, second]))
    return keras.Model([queries, values], layers.Dense(3, activation="softmax")(x))


def grouped_queries() -> Any:
    """Attention whose heads share keys and values (Ainslie et al. 2023), with RMSNormalization and SwiGLU."""
    inputs = keras.Input((4, 8))
    y = layers.RMSNormalization()(inputs)
    x = inputs + layers.GroupQueryAttention(4, 4, 2)(y, y, use_causal_mask=True)
    y = layers.RMSNormalization()(x)
    y = layers.Multiply()([layers.Dense(12, activation="silu")(y), layers.Dense(12)(y)])
    return keras.Model(inputs, layers.Dense(2)(x + layers.Dense(8)(y)))


def time_series_transformer() -> Any:
    """Attention over a series, convolutions of width one behind it, for classes."""
    x = inputs = keras.Input((8, 6))
    for _ in range(2):
        y = layers.MultiHeadAttention(2, 4, dropout=0.1)(x, x)
        x = x + layers.LayerNormalization(epsilon=1e-6)(layers.Dropout(0.1)(y))
        y = layers.Conv1D(4, 1, activation="relu")(x)
        y = layers.Conv1D(6, 1)(layers.Dropout(0.1)(y))
        x = x + layers.LayerNormalization(epsilon=1e-6)(y)
    x = layers.GlobalAveragePooling1D(data_format="channels_first")(x)
    x = layers.Dropout(0.2)(layers.Dense(8, activation="relu")(x))
    return keras.Model(inputs, layers.Dense(3, activation="softmax")(x))


_ADAM = {"name": "adam", "learning_rate": 0.005}
_ADAMW = {"name": "adamw", "learning_rate": 0.005, "weight_decay": 0.01}
_CLASSES = Recipe("sparse_categorical_crossentropy", _ADAM, ["accuracy"])
_EVENTS = Recipe("binary_crossentropy", _ADAM, ["accuracy"])
# The bias of attention keys has no gradient but rounding, which optimizers that divide by it make large.
_MOMENTUM = {"name": "momentum", "learning_rate": 0.02}
_REGRESSION = Recipe("mse", _MOMENTUM, ["mae"])

CASES = (
    Case(
        "gpt",
        gpt,
        Recipe("sparse_categorical_crossentropy", _ADAMW, ["accuracy"]),
        x=(tokens(12),),
        y=(class_numbers,),
        batch_size=4,
    ),
    Case(
        "encoder-decoder",
        encoder_decoder,
        _CLASSES,
        x=(sentences(10), sentences(10)),
        y=(class_numbers,),
        batch_size=4,
    ),
    Case("masked-attention", masked_attention, _EVENTS, x=(sentences(12),), y=(events,), batch_size=6),
    Case("given-mask", given_mask, _REGRESSION, x=(numbers, events), batch_size=6),
    Case("dot-attention", dot_attention, _CLASSES, x=(numbers, numbers), y=(class_numbers,), batch_size=6),
    Case("grouped-queries", grouped_queries, _REGRESSION, batch_size=6),
    Case(
        "time-series-transformer",
        time_series_transformer,
        Recipe("sparse_categorical_crossentropy", _MOMENTUM, ["accuracy"]),
        y=(class_numbers,),
        batch_size=6,
    ),
)
