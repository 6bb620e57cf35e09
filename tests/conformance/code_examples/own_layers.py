"""Own layers of the code examples: the file that a reader would give to `minga convert --custom`."""

from __future__ import annotations

from typing import Any

import keras
from keras import layers, ops


class Patches(layers.Layer):  # type: ignore[misc]
    """Cuts an image into a row of flat patches."""

    def __init__(self, patch_size: int, **settings: Any) -> None:
        super().__init__(**settings)
        self.patch_size = patch_size

    def call(self, images: Any) -> Any:
        patches = ops.image.extract_patches(images, self.patch_size)
        return ops.reshape(patches, (-1, patches.shape[1] * patches.shape[2], patches.shape[3]))


class PatchEncoder(layers.Layer):  # type: ignore[misc]
    """Projects patches and adds an embedding of their positions."""

    def __init__(self, num_patches: int, projection_dim: int, **settings: Any) -> None:
        super().__init__(**settings)
        self.num_patches, self.projection_dim = num_patches, projection_dim
        self.projection = layers.Dense(projection_dim)
        self.position_embedding = layers.Embedding(num_patches, projection_dim)

    def build(self, shape: Any) -> None:
        self.projection.build(shape)
        self.position_embedding.build((self.num_patches,))

    def call(self, patches: Any) -> Any:
        positions = ops.expand_dims(ops.arange(0, self.num_patches), 0)
        return self.projection(patches) + self.position_embedding(positions)


class TokenAndPositionEmbedding(layers.Layer):  # type: ignore[misc]
    """Embeds tokens and their positions."""

    def __init__(self, maxlen: int, vocab_size: int, embed_dim: int, **settings: Any) -> None:
        super().__init__(**settings)
        self.maxlen, self.vocab_size, self.embed_dim = maxlen, vocab_size, embed_dim
        self.token_emb = layers.Embedding(vocab_size, embed_dim)
        self.pos_emb = layers.Embedding(maxlen, embed_dim)

    def build(self, shape: Any) -> None:
        self.token_emb.build(shape)
        self.pos_emb.build((self.maxlen,))

    def call(self, x: Any) -> Any:
        return self.token_emb(x) + self.pos_emb(ops.arange(0, ops.shape(x)[-1]))


class TransformerBlock(layers.Layer):  # type: ignore[misc]
    """Attention and a feed-forward network with residuals; causal for generation."""

    def __init__(self, embed_dim: int, num_heads: int, ff_dim: int, causal: bool = False, **settings: Any):
        super().__init__(**settings)
        self.embed_dim, self.num_heads, self.ff_dim, self.causal = embed_dim, num_heads, ff_dim, causal
        self.att = layers.MultiHeadAttention(num_heads, embed_dim // num_heads)
        self.ffn = keras.Sequential([layers.Dense(ff_dim, activation="relu"), layers.Dense(embed_dim)])
        self.norms = [layers.LayerNormalization(epsilon=1e-6) for _ in range(2)]
        self.drops = [layers.Dropout(0.1) for _ in range(2)]

    def build(self, shape: Any) -> None:
        self.att.build(shape, shape)
        self.ffn.build(shape)
        for norm in self.norms:
            norm.build(shape)

    def call(self, x: Any, training: Any = None) -> Any:
        attended = self.att(x, x, use_causal_mask=self.causal)
        x = self.norms[0](x + self.drops[0](attended, training=training))
        return self.norms[1](x + self.drops[1](self.ffn(x), training=training))


class CTCLayer(layers.Layer):  # type: ignore[misc]
    """Adds the CTC loss of its labels, as the example reads captchas; predicts by passing on."""

    def call(self, y_true: Any, y_pred: Any) -> Any:
        rows = ops.ones((ops.shape(y_true)[0],), "int32")
        steps, letters = rows * ops.shape(y_pred)[1], rows * ops.shape(y_true)[1]
        self.add_loss(ops.mean(ops.ctc_loss(y_true, y_pred, letters, steps, mask_index=0)))
        return y_pred


class Router(layers.Layer):  # type: ignore[misc]
    """Gives each token to the likeliest of several experts and balances them by a loss."""

    def __init__(self, num_experts: int, ff_dim: int, **settings: Any) -> None:
        super().__init__(**settings)
        self.num_experts, self.ff_dim = num_experts, ff_dim
        self.route = layers.Dense(num_experts)
        self.experts = [layers.Dense(ff_dim, activation="relu") for _ in range(num_experts)]

    def build(self, shape: Any) -> None:
        for layer in [self.route, *self.experts]:
            layer.build(shape)

    def call(self, x: Any) -> Any:
        chances = ops.softmax(self.route(x))
        chosen = ops.one_hot(ops.argmax(chances, axis=-1), self.num_experts)
        gate = ops.sum(chances * chosen, axis=-1, keepdims=True)
        answers = ops.stack([expert(x) for expert in self.experts], axis=-1)
        return gate * ops.sum(answers * chosen[:, :, None, :], axis=-1)


class GraphConvolution(layers.Layer):  # type: ignore[misc]
    """Mixes the features of neighbours by a fixed adjacency matrix."""

    def __init__(self, units: int, nodes: int, **settings: Any) -> None:
        super().__init__(**settings)
        self.units, self.nodes = units, nodes
        self.dense = layers.Dense(units, activation="relu")

    def build(self, shape: Any) -> None:
        self.dense.build(shape)

    def call(self, x: Any) -> Any:
        steps = ops.arange(0, self.nodes, dtype="float32")
        near = ops.exp(-ops.abs(steps[:, None] - steps[None, :]))
        return self.dense(ops.einsum("ij,bjf->bif", near / ops.sum(near, axis=1, keepdims=True), x))


class GraphAttention(layers.Layer):  # type: ignore[misc]
    """Attention over the nodes that an adjacency matrix joins."""

    def __init__(self, units: int, **settings: Any) -> None:
        super().__init__(**settings)
        self.units = units

    def build(self, shapes: Any) -> None:
        self.kernel = self.add_weight(shape=(shapes[0][-1], self.units), name="kernel")
        self.attention = self.add_weight(shape=(2, self.units), name="attention")

    def call(self, inputs: Any) -> Any:
        nodes, joined = inputs
        x = ops.matmul(nodes, self.kernel)
        ours, theirs = (ops.einsum("bnu,u->bn", x, self.attention[k]) for k in (0, 1))
        scores = ops.leaky_relu(ours[:, :, None] + theirs[:, None, :])
        scores = ops.where(joined > 0.5, scores, -1e9)
        return ops.relu(ops.matmul(ops.softmax(scores), x))


class Sampling(layers.Layer):  # type: ignore[misc]
    """Draws the latent vector of a variational autoencoder and adds the divergence as a loss."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.seed_generator = keras.random.SeedGenerator(1337)

    def call(self, inputs: Any) -> Any:
        mean, log_var = inputs
        divergence = -0.5 * (1.0 + log_var - ops.square(mean) - ops.exp(log_var))
        self.add_loss(ops.mean(ops.sum(divergence, axis=-1)))
        noise = keras.random.normal(ops.shape(mean), seed=self.seed_generator)
        return mean + ops.exp(0.5 * log_var) * noise


class VectorQuantizer(layers.Layer):  # type: ignore[misc]
    """Replaces each vector by the nearest of a codebook, with a straight-through gradient."""

    def __init__(self, num_embeddings: int, embedding_dim: int, beta: float = 0.25, **settings: Any) -> None:
        super().__init__(**settings)
        self.num_embeddings, self.embedding_dim, self.beta = num_embeddings, embedding_dim, beta

    def build(self, _shape: Any) -> None:
        self.codes = self.add_weight(
            shape=(self.embedding_dim, self.num_embeddings), initializer="random_uniform", name="codes"
        )

    def call(self, x: Any) -> Any:
        flat = ops.reshape(x, (-1, self.embedding_dim))
        distances = ops.sum(flat**2, axis=1, keepdims=True) + ops.sum(self.codes**2, axis=0)
        nearest = ops.argmin(distances - 2.0 * ops.matmul(flat, self.codes), axis=1)
        one_hot = ops.one_hot(nearest, self.num_embeddings)
        quantized = ops.reshape(ops.matmul(one_hot, ops.transpose(self.codes)), ops.shape(x))
        commitment = ops.mean((ops.stop_gradient(quantized) - x) ** 2)
        self.add_loss(self.beta * commitment + ops.mean((quantized - ops.stop_gradient(x)) ** 2))
        return x + ops.stop_gradient(quantized - x)


class PixelConvLayer(layers.Layer):  # type: ignore[misc]
    """A convolution that sees only the pixels before its own."""

    def __init__(self, mask_type: str, filters: int, kernel_size: int, **settings: Any) -> None:
        super().__init__(**settings)
        self.mask_type, self.filters, self.kernel_size = mask_type, filters, kernel_size
        self.conv = layers.Conv2D(filters, kernel_size, padding="same", activation="relu")

    def build(self, shape: Any) -> None:
        self.conv.build(shape)

    def call(self, x: Any) -> Any:
        size, middle = self.kernel_size, self.kernel_size // 2
        index = ops.reshape(ops.arange(size * size), (size, size, 1, 1))
        last = middle * size + middle + (1 if self.mask_type == "B" else 0)
        kernel = self.conv.kernel * ops.cast(index < last, "float32")
        return ops.relu(ops.conv(x, kernel, padding="same") + self.conv.bias)


class MILAttention(layers.Layer):  # type: ignore[misc]
    """Weighs the instances of a bag by attention."""

    def __init__(self, weight_params_dim: int, **settings: Any) -> None:
        super().__init__(**settings)
        self.weight_params_dim = weight_params_dim

    def build(self, shape: Any) -> None:
        self.v = self.add_weight(shape=(shape[-1], self.weight_params_dim), name="v")
        self.w = self.add_weight(shape=(self.weight_params_dim, 1), name="w")

    def call(self, bags: Any) -> Any:
        return ops.softmax(ops.matmul(ops.tanh(ops.matmul(bags, self.v)), self.w), axis=1)


class Involution(layers.Layer):  # type: ignore[misc]
    """A convolution whose kernel is computed at each place and shared by the channels."""

    def __init__(self, kernel_size: int, **settings: Any) -> None:
        super().__init__(**settings)
        self.kernel_size = kernel_size
        self.make = keras.Sequential([layers.Conv2D(4, 1), layers.ReLU(), layers.Conv2D(kernel_size**2, 1)])

    def build(self, shape: Any) -> None:
        self.make.build(shape)

    def call(self, x: Any) -> Any:
        _, height, width, channels = x.shape
        kernel = ops.reshape(self.make(x), (-1, height, width, self.kernel_size**2, 1))
        patches = ops.image.extract_patches(x, self.kernel_size, strides=1, padding="same")
        patches = ops.reshape(patches, (-1, height, width, self.kernel_size**2, channels))
        return ops.sum(kernel * patches, axis=3)


class FourierMixing(layers.Layer):  # type: ignore[misc]
    """Mixes tokens by the real part of a two-dimensional Fourier transform."""

    def call(self, x: Any) -> Any:
        return x + ops.fft2((x, ops.zeros_like(x)))[0]
