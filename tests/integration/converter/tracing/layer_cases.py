"""One tiny model, or more, for every public layer of Keras that a bundle can hold."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import keras

L = keras.layers
VECTOR, SEQUENCE, IMAGE, VOLUME = (6,), (6, 4), (8, 7, 3), (5, 6, 4, 2)
Build = Callable[[Any], Any]


@dataclass(frozen=True)
class Case:
    """A layer's name, the shapes of its model's inputs and the model's body, which gets one tensor or a list.

    `tokens` is the size of a vocabulary where inputs are class numbers; raw inputs are colours in [0, 1] that
    no gradient flows to.
    """

    layer: str
    shapes: tuple[tuple[int, ...], ...]
    body: Build
    variant: str = ""
    tokens: int = 0
    is_raw: bool = False

    @property
    def name(self) -> str:
        return f"{self.layer} {self.variant}".strip()

    def model(self) -> Any:
        """The layer between a trainable layer before, where the inputs are numbers, and one behind."""
        keras.utils.set_random_seed(5)
        if self.tokens:
            inputs = [keras.Input(shape, dtype="int32") for shape in self.shapes]
        else:
            inputs = [keras.Input(shape) for shape in self.shapes]
        x = inputs if self.tokens or self.is_raw else [_bent(tensor) for tensor in inputs]
        body = self.body(x if len(x) > 1 else x[0])
        outputs = L.Dense(2)(L.Flatten()(body))
        model = keras.Model(inputs, outputs)
        for variable in model.trainable_variables:
            # Zero biases and unit scales would hide mistakes.
            variable.assign(variable + keras.random.normal(variable.shape, stddev=0.05, seed=1))
        return model


def _bent(x: Any) -> Any:
    """x times a trainable factor for each channel: makes gradients flow through whatever follows."""
    axes = "abcdefg"[: len(x.shape)]
    equation = f"{axes},{axes[-1]}->{axes}"
    return L.EinsumDense(equation, x.shape[1:], kernel_initializer="ones")(x)


def _over(make: Callable[[], Any], x: Any) -> Any:
    return make()(x)


def _one(shape: tuple[int, ...], **variants: Callable[[], Any]) -> list[Case]:
    """Cases named `Layer_variant`, each one layer over one input of `shape`."""
    cases = []
    for key, make in variants.items():
        layer, _, variant = key.partition("_")
        cases.append(Case(layer, (shape,), partial(_over, make), variant.replace("_", " ")))
    return cases


def _several(count: int, shape: tuple[int, ...], **variants: Callable[[], Any]) -> list[Case]:
    cases = []
    for key, make in variants.items():
        layer, _, variant = key.partition("_")
        shapes = (shape,) * count
        cases.append(Case(layer, shapes, partial(_over, make), variant.replace("_", " ")))
    return cases


def _raw(**variants: Callable[[], Any]) -> list[Case]:
    return [replace(case, is_raw=True) for case in _one(IMAGE, **variants)]


_ACTIVATIONS = (
    "celu", "elu", "exponential", "gelu", "hard_shrink", "hard_sigmoid", "hard_silu", "hard_tanh",
    "leaky_relu", "linear", "log_sigmoid", "log_softmax", "mish", "relu", "relu6", "selu", "sigmoid", "silu",
    "soft_shrink", "softmax", "softplus", "softsign", "sparse_plus", "sparse_sigmoid", "sparsemax",
    "squareplus", "tanh", "tanh_shrink",
)  # fmt: skip


CORE = [
    *[Case("Activation", (SEQUENCE,), L.Activation(name), name) for name in _ACTIVATIONS],
    *_one(
        SEQUENCE,
        Dense=lambda: L.Dense(3, "gelu"),
        EinsumDense=lambda: L.EinsumDense("abc,cd->abd", (6, 5), bias_axes="d"),
        EinsumDense_two_axes=lambda: L.EinsumDense("abc,cde->abde", (6, 2, 3), bias_axes="de"),
        Identity=lambda: L.Identity(),
        TimeDistributed=lambda: L.TimeDistributed(L.Dense(3)),
        ELU=lambda: L.ELU(0.5),
        LeakyReLU=lambda: L.LeakyReLU(),
        PReLU=lambda: L.PReLU("uniform"),
        ReLU=lambda: L.ReLU(),
        ReLU_bounded=lambda: L.ReLU(0.6, 0.1, 0.2),
        Softmax=lambda: L.Softmax(),
        Softmax_over_steps=lambda: L.Softmax(1),
        Permute=lambda: L.Permute((2, 1)),
        Reshape=lambda: L.Reshape((3, -1)),
        Flatten=lambda: L.Flatten(),
        Cropping1D=lambda: L.Cropping1D((1, 2)),
        ZeroPadding1D=lambda: L.ZeroPadding1D((1, 2)),
        UpSampling1D=lambda: L.UpSampling1D(2),
    ),
    *_one(VECTOR, RepeatVector=lambda: L.RepeatVector(3)),
    Case("Embedding", ((6,),), lambda x: L.Embedding(9, 4)(x), tokens=9),
    Case("Embedding", ((6,),), lambda x: L.LSTM(3)(L.Embedding(9, 4, mask_zero=True)(x)), "masked", 9),
    Case("ReversibleEmbedding", ((6,),), lambda x: L.ReversibleEmbedding(9, 4)(x), tokens=9),
    Case("InputLayer", (VECTOR,), lambda x: x),
    Case("Masking", (SEQUENCE,), lambda x: L.LSTM(3)(L.Masking()(L.ReLU()(x)))),
    Case("STFTSpectrogram", ((40, 1),), L.STFTSpectrogram(frame_length=8, frame_step=4)),
]
CONVOLUTIONS = [
    *_one(
        SEQUENCE,
        Conv1D=lambda: L.Conv1D(4, 3),
        Conv1D_causal=lambda: L.Conv1D(4, 3, padding="causal", dilation_rate=2),
        Conv1D_strided=lambda: L.Conv1D(4, 3, strides=2, padding="same"),
        Conv1D_grouped=lambda: L.Conv1D(4, 3, groups=2),
        Conv1DTranspose=lambda: L.Conv1DTranspose(4, 3, strides=2),
        Conv1DTranspose_same=lambda: L.Conv1DTranspose(4, 3, strides=2, padding="same"),
        DepthwiseConv1D=lambda: L.DepthwiseConv1D(3, depth_multiplier=2),
        DepthwiseConv1D_strided=lambda: L.DepthwiseConv1D(3, padding="same", strides=2),
        SeparableConv1D=lambda: L.SeparableConv1D(4, 3),
        SeparableConv1D_strided=lambda: L.SeparableConv1D(4, 3, strides=2, padding="same"),
    ),
    *_one(
        IMAGE,
        Conv2D=lambda: L.Conv2D(4, 3, activation="relu"),
        Conv2D_strided=lambda: L.Conv2D(4, (3, 2), strides=2, padding="same"),
        Conv2D_dilated=lambda: L.Conv2D(4, 3, dilation_rate=2),
        Conv2D_dilated_same=lambda: L.Conv2D(4, 3, dilation_rate=(2, 1), padding="same"),
        Conv2D_grouped=lambda: L.Conv2D(6, 3, groups=3),
        Conv2DTranspose=lambda: L.Conv2DTranspose(4, 3, strides=2),
        Conv2DTranspose_same=lambda: L.Conv2DTranspose(4, 3, strides=2, padding="same"),
        Conv2DTranspose_padded=lambda: L.Conv2DTranspose(4, 3, strides=2, output_padding=1),
        DepthwiseConv2D=lambda: L.DepthwiseConv2D(3, depth_multiplier=2),
        DepthwiseConv2D_strided=lambda: L.DepthwiseConv2D(3, strides=2, padding="same"),
        DepthwiseConv2D_dilated=lambda: L.DepthwiseConv2D(3, dilation_rate=2),
        SeparableConv2D=lambda: L.SeparableConv2D(4, 3),
        SeparableConv2D_strided=lambda: L.SeparableConv2D(4, 3, strides=2, padding="same"),
        SeparableConv2D_dilated=lambda: L.SeparableConv2D(4, 3, dilation_rate=2),
    ),
    *_one(
        VOLUME,
        Conv3D=lambda: L.Conv3D(3, (3, 2, 2)),
        Conv3D_same=lambda: L.Conv3D(3, 3, strides=2, padding="same"),
        Conv3D_dilated=lambda: L.Conv3D(3, 2, dilation_rate=2),
        Conv3D_grouped=lambda: L.Conv3D(4, 2, groups=2),
        Conv3D_channels_first=lambda: L.Conv3D(3, 2, data_format="channels_first"),
        Conv3DTranspose=lambda: L.Conv3DTranspose(3, (3, 2, 2), strides=2),
        Conv3DTranspose_same=lambda: L.Conv3DTranspose(3, 3, strides=2, padding="same"),
    ),
]
POOLING = [
    *_one(
        SEQUENCE,
        MaxPooling1D=lambda: L.MaxPooling1D(2),
        MaxPooling1D_same=lambda: L.MaxPooling1D(3, 2, padding="same"),
        AveragePooling1D=lambda: L.AveragePooling1D(2),
        AveragePooling1D_same=lambda: L.AveragePooling1D(4, 2, padding="same"),
        GlobalAveragePooling1D=lambda: L.GlobalAveragePooling1D(),
        GlobalMaxPooling1D=lambda: L.GlobalMaxPooling1D(),
        AdaptiveAveragePooling1D=lambda: L.AdaptiveAveragePooling1D(4),
        AdaptiveMaxPooling1D=lambda: L.AdaptiveMaxPooling1D(4),
    ),
    *_one(
        IMAGE,
        MaxPooling2D=lambda: L.MaxPooling2D(2),
        MaxPooling2D_overlapping=lambda: L.MaxPooling2D(3, 2, padding="same"),
        MaxPooling2D_channels_first=lambda: L.MaxPooling2D((2, 1), data_format="channels_first"),
        AveragePooling2D=lambda: L.AveragePooling2D(2),
        AveragePooling2D_same=lambda: L.AveragePooling2D(3, 2, padding="same"),
        GlobalAveragePooling2D=lambda: L.GlobalAveragePooling2D(keepdims=True),
        GlobalMaxPooling2D=lambda: L.GlobalMaxPooling2D(),
        AdaptiveAveragePooling2D=lambda: L.AdaptiveAveragePooling2D((3, 4)),
        AdaptiveMaxPooling2D=lambda: L.AdaptiveMaxPooling2D((3, 4)),
    ),
    *_one(
        VOLUME,
        MaxPooling3D=lambda: L.MaxPooling3D(2),
        MaxPooling3D_same=lambda: L.MaxPooling3D(3, 2, padding="same"),
        AveragePooling3D=lambda: L.AveragePooling3D(2),
        AveragePooling3D_same=lambda: L.AveragePooling3D(3, 2, padding="same"),
        GlobalAveragePooling3D=lambda: L.GlobalAveragePooling3D(),
        GlobalMaxPooling3D=lambda: L.GlobalMaxPooling3D(),
        AdaptiveAveragePooling3D=lambda: L.AdaptiveAveragePooling3D((2, 3, 3)),
        AdaptiveMaxPooling3D=lambda: L.AdaptiveMaxPooling3D((2, 3, 3)),
    ),
]
SHAPES = [
    *_one(
        IMAGE,
        Cropping2D=lambda: L.Cropping2D(((1, 2), (0, 1))),
        ZeroPadding2D=lambda: L.ZeroPadding2D(((1, 2), (0, 1))),
        UpSampling2D=lambda: L.UpSampling2D(2),
        UpSampling2D_bilinear=lambda: L.UpSampling2D(2, interpolation="bilinear"),
        UpSampling2D_bicubic=lambda: L.UpSampling2D(2, interpolation="bicubic"),
        Resizing=lambda: L.Resizing(5, 9),
        Resizing_nearest=lambda: L.Resizing(5, 9, interpolation="nearest"),
        Resizing_antialiased=lambda: L.Resizing(3, 4, antialias=True),
        Resizing_cropped=lambda: L.Resizing(4, 6, crop_to_aspect_ratio=True),
        Resizing_padded=lambda: L.Resizing(4, 6, pad_to_aspect_ratio=True),
        CenterCrop=lambda: L.CenterCrop(4, 5),
    ),
    *_one(
        VOLUME,
        Cropping3D=lambda: L.Cropping3D(1),
        ZeroPadding3D=lambda: L.ZeroPadding3D(1),
        UpSampling3D=lambda: L.UpSampling3D(2),
    ),
]
NORMALIZATION = [
    *_one(
        SEQUENCE,
        BatchNormalization=lambda: L.BatchNormalization(),
        BatchNormalization_plain=lambda: L.BatchNormalization(center=False, scale=False),
        BatchNormalization_renormalized=lambda: L.BatchNormalization(renorm=True),
        LayerNormalization=lambda: L.LayerNormalization(),
        LayerNormalization_two_axes=lambda: L.LayerNormalization(axis=[1, 2]),
        LayerNormalization_plain=lambda: L.LayerNormalization(axis=1, center=False, scale=False),
        RMSNormalization=lambda: L.RMSNormalization(),
        UnitNormalization=lambda: L.UnitNormalization(),
    ),
    *_one(
        (6, 5, 4),
        GroupNormalization=lambda: L.GroupNormalization(2),
        GroupNormalization_instance=lambda: L.GroupNormalization(-1, center=False, scale=False),
    ),
]
RECURRENT = [
    *_one(
        SEQUENCE,
        SimpleRNN=lambda: L.SimpleRNN(3),
        GRU=lambda: L.GRU(3),
        GRU_reset_before=lambda: L.GRU(3, reset_after=False, return_sequences=True),
        LSTM=lambda: L.LSTM(3),
        LSTM_backwards=lambda: L.LSTM(3, go_backwards=True, return_sequences=True),
        Bidirectional=lambda: L.Bidirectional(L.LSTM(3, return_sequences=True)),
        RNN=lambda: L.RNN(L.LSTMCell(3)),
        SimpleRNNCell=lambda: L.RNN(L.SimpleRNNCell(3)),
        GRUCell=lambda: L.RNN(L.GRUCell(3)),
        LSTMCell=lambda: L.RNN(L.LSTMCell(3), return_sequences=True),
        StackedRNNCells=lambda: L.RNN(L.StackedRNNCells([L.GRUCell(3), L.LSTMCell(2)])),
    ),
    *_one((3, 5, 2), ConvLSTM1D=lambda: L.ConvLSTM1D(2, 3)),
    *_one((3, 5, 4, 2), ConvLSTM2D=lambda: L.ConvLSTM2D(2, 3, padding="same", return_sequences=True)),
    *_one((2, 3, 4, 3, 2), ConvLSTM3D=lambda: L.ConvLSTM3D(2, 2)),
]


ATTENTION = [
    Case("MultiHeadAttention", (SEQUENCE,), lambda x: L.MultiHeadAttention(2, 3)(x, x, use_causal_mask=True)),
    Case("MultiHeadAttention", (SEQUENCE,) * 2, lambda x: L.MultiHeadAttention(2, 3)(x[0], x[1]), "cross"),
    Case("MultiHeadAttention", ((6,),), lambda x: _attend_to_tokens(x), "masked", 9),
    Case("GroupQueryAttention", (SEQUENCE,), lambda x: L.GroupQueryAttention(3, 4, 2)(x, x)),
    Case("Attention", (SEQUENCE,) * 2, lambda x: L.Attention(use_scale=True)(x)),
    Case("Attention", (SEQUENCE,) * 2, lambda x: L.Attention(score_mode="concat")(x), "concatenated"),
    Case("AdditiveAttention", (SEQUENCE,) * 2, lambda x: L.AdditiveAttention()(x)),
]


def _attend_to_tokens(x: Any) -> Any:
    embedded = L.Embedding(9, 4, mask_zero=True)(x)
    return L.GlobalAveragePooling1D()(L.MultiHeadAttention(2, 3)(embedded, embedded))


MERGING = [
    *_several(
        2,
        SEQUENCE,
        Add=lambda: L.Add(),
        Subtract=lambda: L.Subtract(),
        Multiply=lambda: L.Multiply(),
        Average=lambda: L.Average(),
        Maximum=lambda: L.Maximum(),
        Minimum=lambda: L.Minimum(),
        Concatenate=lambda: L.Concatenate(),
        Concatenate_steps=lambda: L.Concatenate(1),
        Dot=lambda: L.Dot(2),
        Dot_normalized=lambda: L.Dot(2, normalize=True),
    ),
    *_several(3, SEQUENCE, Add_three=lambda: L.Add(), Maximum_three=lambda: L.Maximum()),
]
# Layers that draw numbers, at rates that draw something; `test_draws` holds the drawing itself to Keras.
RANDOM = [
    *_one(
        SEQUENCE,
        Dropout=lambda: L.Dropout(0.3),
        AlphaDropout=lambda: L.AlphaDropout(0.3),
        GaussianDropout=lambda: L.GaussianDropout(0.3),
        GaussianNoise=lambda: L.GaussianNoise(0.3),
        SpatialDropout1D=lambda: L.SpatialDropout1D(0.3),
        LSTM_dropout=lambda: L.LSTM(3, dropout=0.3, recurrent_dropout=0.3),
    ),
    *_one(IMAGE, SpatialDropout2D=lambda: L.SpatialDropout2D(0.3)),
    *_one(VOLUME, SpatialDropout3D=lambda: L.SpatialDropout3D(0.3)),
]
PREPROCESSING = [
    *_one(
        VECTOR,
        Rescaling=lambda: L.Rescaling(0.5, 1.0),
        Normalization=lambda: L.Normalization(mean=0.3, variance=2.0),
        Discretization=lambda: L.Discretization(bin_boundaries=[-0.5, 0.0, 0.5]),
        Discretization_one_hot=lambda: L.Discretization(
            bin_boundaries=[-0.5, 0.0, 0.5], output_mode="multi_hot"
        ),
    ),
    Case("CategoryEncoding", ((3,),), lambda x: L.CategoryEncoding(9)(x), tokens=9),
    Case("CategoryEncoding", ((1,),), lambda x: L.CategoryEncoding(9, "one_hot")(x), "one hot", 9),
    *_raw(
        RandomFlip=lambda: L.RandomFlip(),
        RandomRotation=lambda: L.RandomRotation(0.2),
        RandomZoom=lambda: L.RandomZoom(0.2),
        RandomTranslation=lambda: L.RandomTranslation(0.2, 0.3),
        RandomBrightness=lambda: L.RandomBrightness(0.2, (0.0, 1.0)),
        RandomContrast=lambda: L.RandomContrast(0.3, (0.0, 1.0)),
        RandomColorDegeneration=lambda: L.RandomColorDegeneration(0.5, (0.0, 1.0)),
        RandomColorJitter=lambda: L.RandomColorJitter((0.0, 1.0), 0.2, 0.2, 0.2, 0.1),
        RandomErasing=lambda: L.RandomErasing(value_range=(0.0, 1.0)),
        RandomGaussianBlur=lambda: L.RandomGaussianBlur(value_range=(0.0, 1.0)),
        RandomGrayscale=lambda: L.RandomGrayscale(0.5),
        RandomHue=lambda: L.RandomHue(0.2, (0.0, 1.0)),
        RandomInvert=lambda: L.RandomInvert(value_range=(0.0, 1.0)),
        RandomSaturation=lambda: L.RandomSaturation(0.3, (0.0, 1.0)),
        RandomSharpness=lambda: L.RandomSharpness(0.3, (0.0, 1.0)),
        Solarization=lambda: L.Solarization(0.1, 0.5, (0.0, 1.0)),
        MaxNumBoundingBoxes=lambda: L.MaxNumBoundingBoxes(4),
        Pipeline=lambda: L.Pipeline([L.Rescaling(0.5), L.RandomFlip()]),
    ),
]
CASES = [
    *CORE,
    *CONVOLUTIONS,
    *POOLING,
    *SHAPES,
    *NORMALIZATION,
    *RECURRENT,
    *ATTENTION,
    *MERGING,
    *RANDOM,
    *PREPROCESSING,
]
