"""Keras' code examples for text: classification, tagging, translation and retrieval."""

from __future__ import annotations

from typing import Any

import keras
from keras import layers, ops

from tests.conformance.code_examples.own_layers import (
    FourierMixing,
    Router,
    TokenAndPositionEmbedding,
    TransformerBlock,
)
from tests.conformance.code_examples.own_training import MaskedEntityLoss, OwnStep, Pair

WORDS, LENGTH = 20, 6
SPARSE = "sparse_categorical_crossentropy"


def tokens(length: int = LENGTH, dtype: str = "int32", **settings: Any) -> Any:
    return keras.Input((length,), dtype=dtype, **settings)


def binary(inputs: Any, x: Any) -> Any:
    """A model that says yes or no."""
    model = keras.Model(inputs, layers.Dense(1, activation="sigmoid")(x))
    model.compile("adam", "binary_crossentropy", metrics=["accuracy"])
    return model


def text_classification_from_scratch() -> Any:
    inputs = tokens(12, "int64")
    x = layers.Dropout(0.5)(layers.Embedding(WORDS, 8)(inputs))
    x = layers.Conv1D(8, 3, padding="valid", activation="relu", strides=2)(x)
    x = layers.GlobalMaxPooling1D()(layers.Conv1D(8, 3, padding="valid", activation="relu")(x))
    return binary(inputs, layers.Dropout(0.5)(layers.Dense(8, activation="relu")(x)))


def end_to_end_review() -> Any:
    text = keras.Input((1,), dtype="string")
    vectorize = layers.TextVectorization(vocabulary=["good", "bad"], output_sequence_length=LENGTH)
    return binary(text, layers.GlobalAveragePooling1D()(layers.Embedding(4, 3)(vectorize(text))))


def bidirectional_lstm() -> Any:
    inputs = tokens()
    x = layers.Bidirectional(layers.LSTM(4, return_sequences=True))(layers.Embedding(WORDS, 8)(inputs))
    return binary(inputs, layers.Bidirectional(layers.LSTM(4))(x))


def masked_lstm() -> Any:
    inputs = tokens()
    x = layers.Embedding(WORDS, 8, mask_zero=True)(inputs)
    return binary(inputs, layers.Bidirectional(layers.LSTM(4))(layers.Masking()(x)))


def transformer_classifier() -> Any:
    inputs = tokens()
    x = TransformerBlock(8, 2, 8)(TokenAndPositionEmbedding(LENGTH, WORDS, 8)(inputs))
    x = layers.Dropout(0.1)(layers.Dense(8, activation="relu")(layers.GlobalAveragePooling1D()(x)))
    model = keras.Model(inputs, layers.Dense(2, activation="softmax")(x))
    model.compile("adam", SPARSE, metrics=["accuracy"])
    return model


def switch_transformer() -> Any:
    inputs = tokens()
    x = TokenAndPositionEmbedding(LENGTH, WORDS, 8)(inputs)
    attended = layers.LayerNormalization(epsilon=1e-6)(x + layers.MultiHeadAttention(2, 8)(x, x))
    x = layers.LayerNormalization(epsilon=1e-6)(attended + Router(3, 8)(attended))
    model = keras.Model(inputs, layers.Dense(2, activation="softmax")(layers.GlobalAveragePooling1D()(x)))
    model.compile("adam", SPARSE, metrics=["accuracy"])
    return model


def fourier_classifier() -> Any:
    inputs = tokens()
    x = FourierMixing()(TokenAndPositionEmbedding(LENGTH, WORDS, 8)(inputs))
    return binary(inputs, layers.GlobalAveragePooling1D()(x))


def multi_label_classification() -> Any:
    model = keras.Sequential(
        [keras.Input((WORDS,)), layers.Dense(16, activation="relu"), layers.Dense(5, "sigmoid")]
    )
    model.compile("adam", "binary_crossentropy", metrics=["binary_accuracy"])
    return model


def lstm_seq2seq() -> Any:
    letters, taught = keras.Input((LENGTH, 5)), keras.Input((LENGTH, 7))
    _, h, c = layers.LSTM(8, return_state=True)(letters)
    decoded, _, _ = layers.LSTM(8, return_sequences=True, return_state=True)(taught, initial_state=[h, c])
    model = keras.Model([letters, taught], layers.Dense(7, activation="softmax")(decoded))
    model.compile("rmsprop", "categorical_crossentropy", metrics=["accuracy"])
    return model


def gru_seq2seq() -> Any:
    source, target = tokens(), tokens()
    encoded, state = layers.GRU(8, return_sequences=True, return_state=True)(
        layers.Embedding(WORDS, 8)(source)
    )
    decoded = layers.GRU(8, return_sequences=True)(layers.Embedding(WORDS, 8)(target), initial_state=state)
    attended = layers.AdditiveAttention()([decoded, encoded])
    model = keras.Model([source, target], layers.Dense(WORDS)(layers.Concatenate()([decoded, attended])))
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True, ignore_class=0))
    return model


def translation_transformer() -> Any:
    source, target = tokens(name="encoder_inputs"), tokens(name="decoder_inputs")
    encoded = TransformerBlock(8, 2, 16)(TokenAndPositionEmbedding(LENGTH, WORDS, 8)(source))
    x = TokenAndPositionEmbedding(LENGTH, WORDS, 8)(target)
    x = layers.LayerNormalization()(x + layers.MultiHeadAttention(2, 8)(x, x, x, use_causal_mask=True))
    x = layers.LayerNormalization()(x + layers.MultiHeadAttention(2, 8)(x, encoded, encoded))
    x = layers.LayerNormalization()(x + layers.Dense(8)(layers.Dense(16, activation="relu")(x)))
    outputs = layers.Dense(WORDS, activation="softmax")(layers.Dropout(0.5)(x))
    model = keras.Model({"encoder_inputs": source, "decoder_inputs": target}, outputs)
    model.compile("rmsprop", SPARSE, metrics=["accuracy"])
    return model


def entity_recognition() -> Any:
    inputs = tokens()
    x = TransformerBlock(8, 2, 16)(TokenAndPositionEmbedding(LENGTH, WORDS, 8)(inputs))
    x = layers.Dropout(0.1)(layers.Dense(8, activation="relu")(layers.Dropout(0.1)(x)))
    model = keras.Model(inputs, layers.Dense(5)(x))
    model.compile("adam", MaskedEntityLoss())
    return model


def pretrained_embeddings() -> Any:
    inputs = tokens(12)
    x = layers.Embedding(WORDS, 8, trainable=False)(inputs)
    x = layers.MaxPooling1D(2)(layers.Conv1D(8, 3, activation="relu")(x))
    x = layers.Dense(8, activation="relu")(
        layers.GlobalMaxPooling1D()(layers.Conv1D(8, 3, activation="relu")(x))
    )
    model = keras.Model(inputs, layers.Dense(4, activation="softmax")(layers.Dropout(0.5)(x)))
    model.compile("rmsprop", SPARSE, metrics=["acc"])
    return model


def addition() -> Any:
    model = keras.Sequential([keras.Input((7, 12)), layers.LSTM(8), layers.RepeatVector(4)])
    model.add(layers.LSTM(8, return_sequences=True))
    model.add(layers.Dense(12, activation="softmax"))
    model.compile("adam", "categorical_crossentropy", metrics=["accuracy"])
    return model


def question_answering() -> Any:
    inputs = tokens()
    x = TransformerBlock(8, 2, 16)(TokenAndPositionEmbedding(LENGTH, WORDS, 8)(inputs))
    ends = [
        layers.Activation("softmax")(layers.Flatten()(layers.Dense(1, use_bias=False)(x))) for _ in range(2)
    ]
    model = keras.Model(inputs, ends)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=False)
    model.compile(keras.optimizers.Adam(5e-5), [loss, loss])
    return model


def masked_language_model() -> Any:
    inputs = tokens()
    x = layers.Dense(8)(TokenAndPositionEmbedding(LENGTH, WORDS, 8)(inputs))
    model = OwnStep(inputs, layers.Dense(WORDS, activation="softmax")(x))
    model.compile("adam")
    return model


def image_search() -> Any:
    inputs = keras.Input((8,))
    model = Pair(keras.Model(inputs, layers.Dense(4)(inputs)), keras.Sequential([layers.Dense(4)]))
    model.compile("adam")
    return model


def sentence_similarity() -> Any:
    first, second = tokens(), tokens()
    embed = layers.Embedding(WORDS, 8)
    means = [ops.mean(embed(one), axis=1) for one in (first, second)]
    model = keras.Model([first, second], layers.Dot(1, normalize=True)(means))
    model.compile("adam", "mse")
    return model


EXAMPLES = {
    "text_classification_from_scratch": text_classification_from_scratch,
    "text_classification_from_scratch (end to end)": end_to_end_review,
    "bidirectional_lstm_imdb": bidirectional_lstm,
    "understanding_masking_and_padding": masked_lstm,
    "text_classification_with_transformer": transformer_classifier,
    "text_classification_with_switch_transformer": switch_transformer,
    "fnet_classification_with_keras_hub": fourier_classifier,
    "multi_label_classification": multi_label_classification,
    "lstm_seq2seq": lstm_seq2seq,
    "lstm_seq2seq (GRU with attention)": gru_seq2seq,
    "neural_machine_translation_with_transformer": translation_transformer,
    "ner_transformers": entity_recognition,
    "pretrained_word_embeddings": pretrained_embeddings,
    "addition_rnn": addition,
    "text_extraction_with_bert": question_answering,
    "end_to_end_mlm_with_bert": masked_language_model,
    "nl_image_search": image_search,
    "sentence_embeddings_with_sbert": sentence_similarity,
}
