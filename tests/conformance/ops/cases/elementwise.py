"""Ops of one tensor, element by element, and the gradients of activations."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import tensorflow as tf

from tests.conformance.ops.case import (
    Array,
    Case,
    Shape,
    between,
    booleans,
    chance,
    floats,
    positive,
    values,
    within,
)

SHAPES = ((), (1,), (5,), (257,), (3, 5), (2, 3, 4), (1, 2, 3, 4), (2, 1, 2, 2, 3), (1, 2, 1, 2, 2, 2))
EXTREMES = (0.0, -0.0, 1e-30, -1e-30, 1e-6, -1e-6, 0.5, -0.5, 1.0, -1.0, 8.0, -8.0, 30.0, -30.0, 80.0, -80.0)
HUGE = (1e4, -1e4, 1e30, -1e30, 3e38, -3e38)
HALVES = (0.5, 1.5, 2.5, 3.5, -0.5, -1.5, -2.5, 0.49999997, 1e7, -1e7)

# What an op is defined on decides its numbers; the extremes are those that stay finite in TensorFlow.
REAL = {
    "Abs": "x",
    "Ceil": "x",
    "Elu": "features",
    "Erf": "x",
    "Erfc": "x",
    "Floor": "x",
    "Neg": "x",
    "Relu": "features",
    "Relu6": "features",
    "Selu": "features",
    "Sigmoid": "x",
    "Sign": "x",
    "Softplus": "features",
    "Softsign": "features",
    "Tanh": "x",
}
ANGLES = ("Cos", "Sin")
GROWING = ("Exp", "Expm1")
POSITIVE = ("Log", "Log1p", "Rsqrt", "Sqrt")
COPIES = {"Identity": "input", "OnesLike": "x", "StopGradient": "input", "ZerosLike": "x"}


def drawn(low: float, high: float, shape: tuple[int, ...]) -> Array:
    return np.asarray(within(low, high, *shape), np.float32)


def functions() -> Iterator[Case]:
    for op, name in REAL.items():
        for shape in SHAPES:
            yield op, {name: 3 * np.asarray(floats(*shape), np.float32)}
        yield op, {name: values(*EXTREMES)}
        yield op, {name: values(*HUGE)}
    for op in ("Ceil", "Floor"):
        yield op, {"x": values(*HALVES)}
    for op in ANGLES:
        for shape in SHAPES:
            yield op, {"x": drawn(-3.0, 3.0, shape)}
    for op in GROWING:
        for shape in SHAPES:
            yield op, {"x": drawn(-4.0, 4.0, shape)}
        yield op, {"x": values(*EXTREMES)}
    for op in POSITIVE:
        for shape in SHAPES:
            yield op, {"x": np.asarray(positive(*shape), np.float32)}
        yield op, {"x": values(1e-30, 1e-6, 1e-3, 0.5, 1.0, 2.0, 1e3, 1e6, 1e30)}
    yield "Log", {"x": values(0.0)}
    yield "Log1p", {"x": values(0.0, -0.5, -0.999, 1e-7, -1e-7)}
    yield "Sqrt", {"x": values(0.0)}
    for shape in SHAPES:
        yield "Square", {"x": np.asarray(floats(*shape), np.float32)}
        yield "Reciprocal", {"x": np.asarray(positive(*shape), np.float32)}
    yield "Square", {"x": values(0.0, -0.0, 1e-15, 1e15, -3.0)}
    yield "Reciprocal", {"x": values(1e-30, -1e-30, 1e30, 4.0, -0.25)}
    for alpha in (0.0, 0.2, 0.3, 1.0):
        yield "LeakyRelu", {"features": 3 * floats(3, 5), "alpha": alpha}
    yield "LeakyRelu", {"features": values(*EXTREMES), "alpha": 0.1}


def whole_numbers() -> Iterator[Case]:
    shape: Shape
    for op in ("Abs", "Neg", "Sign", "Square"):
        for shape in ((), (7,), (2, 3, 4)):
            yield op, {"x": np.asarray(between(-9, 10, *shape), np.int32)}
    for op, name in COPIES.items():
        for shape in SHAPES:
            yield op, {name: np.asarray(floats(*shape), np.float32)}
        yield op, {name: between(-9, 9, 3, 4)}
        yield op, {name: booleans(3, 4)}
    for shape in SHAPES:
        yield "LogicalNot", {"x": np.asarray(booleans(*shape), bool)}


def casts() -> Iterator[Case]:
    for shape in ((), (9,), (3, 4), (2, 3, 4, 5)):
        for source in (5 * floats(*shape), between(-9, 9, *shape), booleans(*shape)):
            for target in (tf.float32, tf.int32, tf.bool, tf.int64):
                yield "Cast", {"x": np.asarray(source), "DstT": target}
    yield "Cast", {"x": values(-1.5, -0.5, -0.0, 0.0, 0.5, 0.99, 1.5, 8388609.0), "DstT": tf.int32}
    yield "Cast", {"x": values(-0.5, -0.0, 0.0, 1e-30, 2.0), "DstT": tf.bool}
    yield "Cast", {"x": between(2**23, 2**24, 6), "DstT": tf.float32}


def activation_gradients() -> Iterator[Case]:
    kinks = values(0.0, -0.0, 1e-30, -1e-30, 6.0, 5.999, 6.001, 30.0, -30.0, 90.0, -90.0)
    for op in ("ReluGrad", "Relu6Grad", "LeakyReluGrad", "SoftplusGrad", "SoftsignGrad"):
        for shape in SHAPES:
            yield op, {"gradients": _dy(shape), "features": 4 * _dy(shape)}
        yield op, {"gradients": _dy(kinks.shape), "features": kinks}
    for alpha in (0.0, 0.3):
        yield "LeakyReluGrad", {"gradients": floats(9), "features": floats(9), "alpha": alpha}
    for op, lowest in (("EluGrad", -1.0), ("SeluGrad", -1.7580993408473766)):
        for shape in SHAPES:
            yield op, {"gradients": _dy(shape), "outputs": np.maximum(_dy(shape), np.float32(lowest))}
        yield op, {"gradients": floats(5), "outputs": values(0.0, -0.0, lowest, lowest / 2, 3.0)}
    for op in ("SigmoidGrad", "TanhGrad", "RsqrtGrad", "SqrtGrad", "ReciprocalGrad"):
        for shape in SHAPES:
            yield op, {"y": np.asarray(positive(*shape), np.float32), "dy": _dy(shape)}
    for op in ("SigmoidGrad", "TanhGrad"):
        yield op, {"y": values(0.0, 1.0, 0.5, 1e-30), "dy": floats(4)}


def _dy(shape: tuple[int, ...]) -> Array:
    return np.asarray(chance().normal(0.0, 1.0, shape), np.float32)
