"""Keras' code examples that generate images or text."""

from __future__ import annotations

from typing import Any

import keras
from keras import layers, ops

from tests.conformance.code_examples.own_layers import (
    PixelConvLayer,
    Sampling,
    TokenAndPositionEmbedding,
    TransformerBlock,
    VectorQuantizer,
)
from tests.conformance.code_examples.own_training import OwnStep, Pair


def discriminator() -> Any:
    parts = [
        keras.Input((8, 8, 1)),
        layers.Conv2D(4, 4, strides=2, padding="same"),
        layers.LeakyReLU(negative_slope=0.2),
        layers.Flatten(),
        layers.Dropout(0.2),
        layers.Dense(1, activation="sigmoid"),
    ]
    return keras.Sequential(parts, name="discriminator")


def generator() -> Any:
    parts = [
        keras.Input((6,)),
        layers.Dense(2 * 2 * 8),
        layers.Reshape((2, 2, 8)),
        layers.Conv2DTranspose(8, 4, strides=2, padding="same"),
        layers.LeakyReLU(negative_slope=0.2),
        layers.Conv2DTranspose(4, 4, strides=2, padding="same"),
        layers.Conv2D(1, 5, padding="same", activation="sigmoid"),
    ]
    return keras.Sequential(parts, name="generator")


def pair(first: Any, second: Any) -> Any:
    model = Pair(first, second)
    model.compile("adam")
    return model


def gan() -> Any:
    return pair(generator(), discriminator())


def only_the_discriminator() -> Any:
    model = discriminator()
    model.compile(keras.optimizers.Adam(3e-4), "binary_crossentropy")
    return model


def conditional_gan() -> Any:
    noise, kind = keras.Input((6,)), keras.Input((10,))
    merged = layers.Dense(6)(layers.Concatenate()([noise, kind]))
    return pair(keras.Model([noise, kind], merged), generator())


def image_translation() -> Any:
    inputs = keras.Input((8, 8, 3))
    x = layers.GroupNormalization(groups=-1)(layers.Conv2D(4, 3, padding="same")(inputs))
    first = keras.Model(inputs, layers.Conv2D(3, 3, padding="same", activation="tanh")(x))
    return pair(first, keras.models.clone_model(first))


def encoder_decoder() -> tuple[Any, Any]:
    inputs = keras.Input((8, 8, 1))
    x = layers.Flatten()(layers.Conv2D(4, 3, activation="relu", strides=2, padding="same")(inputs))
    x = layers.Dense(8, activation="relu")(x)
    return inputs, Sampling()([layers.Dense(6, name="z_mean")(x), layers.Dense(6, name="z_log_var")(x)])


def vae() -> Any:
    inputs, z = encoder_decoder()
    return pair(keras.Model(inputs, z), generator())


def vae_with_add_loss() -> Any:
    """The way out that the refusal of an own train_step names."""
    inputs, z = encoder_decoder()
    model = keras.Model(inputs, generator()(z))
    model.compile("adam", "binary_crossentropy")
    return model


def quantized_parts() -> tuple[Any, Any]:
    inputs = keras.Input((8, 8, 1))
    x = layers.Conv2D(4, 1, padding="same")(
        layers.Conv2D(4, 3, activation="relu", strides=2, padding="same")(inputs)
    )
    return inputs, layers.Conv2DTranspose(1, 3, strides=2, padding="same")(VectorQuantizer(8, 4)(x))


def vq_vae() -> Any:
    model = OwnStep(*quantized_parts())
    model.compile("adam")
    return model


def vq_vae_with_add_loss() -> Any:
    model = keras.Model(*quantized_parts())
    model.compile("adam", "mse")
    return model


def noise_predictor() -> tuple[Any, Any]:
    """The U-Net of diffusion models, from noisy images and their times to the noise."""
    image, time = keras.Input((8, 8, 1)), keras.Input((1,))
    frequencies = ops.exp(ops.arange(4, dtype="float32"))
    angles = layers.Dense(4, activation="swish")(ops.sin(time * frequencies))
    x = layers.Conv2D(4, 3, padding="same")(image) + ops.reshape(angles, (-1, 1, 1, 4))
    skip = x = layers.Activation("swish")(layers.GroupNormalization(groups=2)(x))
    x = layers.Conv2D(8, 3, strides=2, padding="same")(x)
    y = layers.GroupNormalization(groups=2)(x)
    x = x + layers.Reshape((4, 4, 8))(
        layers.Attention()([layers.Reshape((16, 8))(y), layers.Reshape((16, 8))(y)])
    )
    x = layers.Concatenate()([layers.UpSampling2D(2, interpolation="nearest")(x), skip])
    return [image, time], layers.Conv2D(1, 3, padding="same", kernel_initializer="zeros")(x)


def diffusion() -> Any:
    model = OwnStep(*noise_predictor())
    model.compile("adam")
    return model


def diffusion_network() -> Any:
    model = keras.Model(*noise_predictor())
    model.compile(keras.optimizers.AdamW(1e-3, weight_decay=1e-4), "mae")
    return model


def pixel_cnn() -> Any:
    inputs = keras.Input((8, 8, 1))
    x = PixelConvLayer("A", 4, 5)(inputs)
    y = layers.Conv2D(2, 1, activation="relu")(x)
    x = layers.add([x, layers.Conv2D(4, 1, activation="relu")(PixelConvLayer("B", 2, 3)(y))])
    x = PixelConvLayer("B", 4, 1)(x)
    model = keras.Model(inputs, layers.Conv2D(1, 1, activation="sigmoid")(x))
    model.compile(keras.optimizers.Adam(0.0005), "binary_crossentropy")
    return model


def real_nvp() -> Any:
    inputs = x = keras.Input((2,))
    for _ in range(2):
        kept, moved = ops.split(x, 2, axis=1)
        scale = layers.Dense(1, activation="tanh", kernel_regularizer=keras.regularizers.l2(0.01))(kept)
        x = ops.concatenate([moved * ops.exp(scale) + layers.Dense(1)(kept), kept], axis=1)
    model = OwnStep(inputs, x)
    model.compile("adam")
    return model


def mini_gpt() -> Any:
    inputs = keras.Input((6,), dtype="int32")
    x = TransformerBlock(8, 2, 8, causal=True)(TokenAndPositionEmbedding(6, 20, 8)(inputs))
    model = keras.Model(inputs, [layers.Dense(20)(x), x])
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile("adam", loss=[loss, None])
    return model


def character_lstm() -> Any:
    model = keras.Sequential([keras.Input((10, 8)), layers.LSTM(8), layers.Dense(8, activation="softmax")])
    model.compile(keras.optimizers.RMSprop(0.01), "categorical_crossentropy")
    return model


def neural_style_transfer() -> Any:
    """The network of the example, whose own loop trains the picture and not the network."""
    inputs = keras.Input((8, 8, 3))
    x = layers.Conv2D(4, 3, activation="relu", trainable=False)(inputs)
    model = keras.Model(inputs, layers.Conv2D(4, 3, activation="relu", trainable=False)(x))
    model.compile("sgd", "mse")
    return model


EXAMPLES = {
    "vae": vae,
    "vae (losses by add_loss)": vae_with_add_loss,
    "dcgan_overriding_train_step": gan,
    "dcgan_overriding_train_step (discriminator alone)": only_the_discriminator,
    "wgan_gp": gan,
    "conditional_gan": conditional_gan,
    "cyclegan": image_translation,
    "ddpm": diffusion,
    "ddim": diffusion,
    "ddim (network alone)": diffusion_network,
    "pixelcnn": pixel_cnn,
    "neural_style_transfer": neural_style_transfer,
    "vq_vae": vq_vae,
    "vq_vae (losses by add_loss)": vq_vae_with_add_loss,
    "real_nvp": real_nvp,
    "text_generation_with_miniature_gpt": mini_gpt,
    "lstm_character_level_text_generation": character_lstm,
}
