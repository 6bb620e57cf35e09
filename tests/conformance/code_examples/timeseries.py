"""Keras' code examples for timeseries and audio: classification, forecasting, anomalies, speech."""

from __future__ import annotations

from typing import Any

import keras
from keras import layers, ops

from tests.conformance.code_examples.own_layers import GraphConvolution, TransformerBlock
from tests.conformance.code_examples.own_training import OwnStep

SPARSE = "sparse_categorical_crossentropy"


def fully_convolutional() -> Any:
    inputs = x = keras.Input((20, 1))
    for _ in range(3):
        x = layers.Conv1D(8, 3, padding="same")(x)
        x = layers.ReLU()(layers.BatchNormalization()(x))
    model = keras.Model(inputs, layers.Dense(2, activation="softmax")(layers.GlobalAveragePooling1D()(x)))
    model.compile("adam", SPARSE, metrics=["sparse_categorical_accuracy"])
    return model


def transformer() -> Any:
    inputs = x = keras.Input((20, 1))
    for _ in range(2):
        y = layers.MultiHeadAttention(key_dim=8, num_heads=2, dropout=0.25)(x, x)
        attended = layers.LayerNormalization(epsilon=1e-6)(layers.Dropout(0.25)(y)) + x
        y = layers.Dropout(0.25)(layers.Conv1D(4, 1, activation="relu")(attended))
        x = layers.LayerNormalization(epsilon=1e-6)(layers.Conv1D(1, 1)(y)) + attended
    x = layers.GlobalAveragePooling1D(data_format="channels_last")(x)
    model = keras.Model(inputs, layers.Dense(2, activation="softmax")(layers.Dense(8, activation="relu")(x)))
    model.compile(keras.optimizers.Adam(1e-4), SPARSE, metrics=["sparse_categorical_accuracy"])
    return model


def anomaly_detection() -> Any:
    parts = [
        keras.Input((16, 1)),
        layers.Conv1D(8, 7, padding="same", strides=2, activation="relu"),
        layers.Dropout(0.2),
        layers.Conv1D(4, 7, padding="same", strides=2, activation="relu"),
        layers.Conv1DTranspose(4, 7, padding="same", strides=2, activation="relu"),
        layers.Dropout(0.2),
        layers.Conv1DTranspose(8, 7, padding="same", strides=2, activation="relu"),
        layers.Conv1DTranspose(1, 7, padding="same"),
    ]
    model = keras.Sequential(parts)
    model.compile(keras.optimizers.Adam(0.001), "mse")
    return model


def weather_forecasting() -> Any:
    inputs = keras.Input((12, 7))
    model = keras.Model(inputs, layers.Dense(1)(layers.LSTM(8)(inputs)))
    model.compile(keras.optimizers.Adam(0.001), "mse")
    return model


def traffic_forecasting() -> Any:
    inputs = keras.Input((6, 5, 1))
    steps = [GraphConvolution(4, 5)(inputs[:, step]) for step in range(6)]
    x = ops.reshape(ops.transpose(ops.stack(steps, axis=1), (0, 2, 1, 3)), (-1, 6, 4))
    x = ops.reshape(layers.Dense(3)(layers.LSTM(8)(x)), (-1, 5, 3))
    model = keras.Model(inputs, ops.transpose(x, (0, 2, 1)))
    model.compile(keras.optimizers.RMSprop(0.0002), keras.losses.MeanSquaredError())
    return model


def eeg_classification() -> Any:
    inputs = x = keras.Input((32, 1))
    for filters in (4, 8):
        x = layers.Conv1D(filters, 3, strides=2, activation="relu", padding="same")(x)
        x = layers.BatchNormalization()(x)
    x = layers.Flatten()(layers.Dropout(0.2)(x))
    x = layers.Dense(16, activation="relu", kernel_regularizer=keras.regularizers.L2())(layers.LeakyReLU()(x))
    model = keras.Model(inputs, layers.Dense(4, activation="softmax")(x))
    metrics = [keras.metrics.TopKCategoricalAccuracy(k=3), keras.metrics.AUC(), keras.metrics.Precision()]
    optimizer = keras.optimizers.Adam(amsgrad=True, learning_rate=0.001)
    model.compile(
        optimizer, keras.losses.CategoricalCrossentropy(), metrics=[*metrics, keras.metrics.Recall()]
    )
    return model


def eeg_transformer() -> Any:
    inputs = keras.Input((6, 16))
    x = layers.Conv1D(12, 1, padding="same", kernel_regularizer=keras.regularizers.L2(1e-3))(inputs)
    x = layers.Dropout(0.5)(layers.Activation("gelu")(layers.LayerNormalization()(x)))
    x = layers.Conv1D(12, 3, padding="same")(layers.LayerNormalization()(x))
    y = layers.Permute((2, 1))(layers.Dense(6)(layers.Permute((2, 1))(x)))
    x = layers.Flatten()(layers.Dropout(0.5)(layers.Add()([x, layers.Activation("gelu")(y)])))
    model = keras.Model(inputs, layers.Dense(4, activation="softmax")(layers.Dense(8)(x)))
    model.compile("adam", SPARSE, metrics=["accuracy"])
    return model


def dilated_causal() -> Any:
    inputs = keras.Input((16, 1))
    x, skips = layers.Conv1D(4, 2, padding="causal")(inputs), []
    for rate in (1, 2, 4):
        gate = layers.Conv1D(4, 2, padding="causal", dilation_rate=rate, activation="sigmoid")(x)
        y = layers.Conv1D(4, 2, padding="causal", dilation_rate=rate, activation="tanh")(x) * gate
        skips.append(layers.Conv1D(4, 1)(y))
        x = x + skips[-1]
    model = keras.Model(inputs, layers.Conv1D(8, 1, activation="softmax")(layers.ReLU()(layers.Add()(skips))))
    model.compile("adam", SPARSE)
    return model


def speaker_recognition() -> Any:
    def block(x: Any, filters: int) -> Any:
        y = layers.Conv1D(filters, 3, padding="same", activation="relu")(x)
        y = layers.Conv1D(filters, 3, padding="same")(y)
        y = layers.Activation("relu")(layers.Add()([y, layers.Conv1D(filters, 1, padding="same")(x)]))
        return layers.MaxPool1D(pool_size=2, strides=2)(y)

    inputs = keras.Input((32, 1), name="input")
    x = layers.AveragePooling1D(pool_size=3, strides=3)(block(block(inputs, 4), 8))
    model = keras.Model(inputs, layers.Dense(5, activation="softmax", name="output")(layers.Flatten()(x)))
    model.compile("Adam", SPARSE, metrics=["accuracy"])
    return model


def speech_recognition_ctc() -> Any:
    inputs = keras.Input((16, 8))
    x = layers.Conv2D(4, (3, 5), strides=(2, 2), padding="same", use_bias=False)(
        layers.Reshape((16, 8, 1))(inputs)
    )
    x = layers.ReLU()(layers.BatchNormalization()(x))
    gru = layers.GRU(8, return_sequences=True, reset_after=True)
    x = layers.Bidirectional(gru, merge_mode="concat")(layers.Reshape((8, 16))(x))
    x = layers.Dropout(0.5)(layers.ReLU()(layers.Dense(16)(x)))
    model = keras.Model(inputs, layers.Dense(6, activation="softmax")(x))
    model.compile(keras.optimizers.Adam(1e-4), keras.losses.CTC())
    return model


def speech_transformer() -> Any:
    inputs = keras.Input((8, 8))
    model = OwnStep(inputs, layers.Dense(6)(TransformerBlock(8, 2, 16)(layers.Dense(8)(inputs))))
    model.compile("adam")
    return model


def spectrogram_audio() -> Any:
    inputs = keras.Input((128, 1))
    x = layers.STFTSpectrogram(mode="log", frame_length=16, frame_step=8, fft_length=16, trainable=False)(
        inputs
    )
    x = layers.ReLU()(layers.BatchNormalization()(layers.Conv1D(8, 3, padding="same")(x)))
    model = keras.Model(inputs, layers.Dense(5, activation="softmax")(layers.GlobalAveragePooling1D()(x)))
    model.compile("adam", SPARSE, metrics=["accuracy"])
    return model


def mel_audio() -> Any:
    inputs = keras.Input((512,))
    x = layers.MelSpectrogram(fft_length=64, sequence_stride=32, num_mel_bins=8)(inputs)
    model = keras.Model(inputs, layers.Dense(5, activation="softmax")(layers.Flatten()(x)))
    model.compile("adam", SPARSE)
    return model


EXAMPLES = {
    "timeseries_classification_from_scratch": fully_convolutional,
    "timeseries_classification_transformer": transformer,
    "timeseries_anomaly_detection": anomaly_detection,
    "timeseries_weather_forecasting": weather_forecasting,
    "timeseries_traffic_forecasting": traffic_forecasting,
    "eeg_signal_classification": eeg_classification,
    "eeg_bci_ssvepformer": eeg_transformer,
    "wavenet": dilated_causal,
    "speaker_recognition_using_cnn": speaker_recognition,
    "ctc_asr": speech_recognition_ctc,
    "transformer_asr": speech_transformer,
    "stft": spectrogram_audio,
    "stft (MelSpectrogram)": mel_audio,
}
