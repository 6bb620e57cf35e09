"""Mistakes that a converter could make, each as a change to ours while one model is converted."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import keras
import pytest
import tensorflow as tf

from converter.bundle import bundle_writer
from converter.decompositions import activations, categorical, images, normalization
from converter.objectives import losses, objective_selection
from converter.optimizers import optimizer_factory, update_rules, update_wrappers
from converter.padding.real_rows import Rows
from converter.tracing import random_inputs, tracer, vector_layout
from tests.integration.converter import mutated_models as models

Patch = Callable[[pytest.MonkeyPatch], None]


@dataclass(frozen=True)
class Mutation:
    """A change to the converter, the model that shows it, and keys of [model] in the task file."""

    model: Callable[[], Any]
    patch: Patch
    settings: dict[str, Any] | None = None


def change(owner: Any, name: str, make: Callable[[Any], Any]) -> Patch:
    """Replaces an attribute by what `make` makes of it."""

    def patch(monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(owner, name, make(getattr(owner, name)))

    return patch


def after(owner: Any, name: str, alter: Callable[[Any], Any]) -> Patch:
    """Alters what a function returns."""
    return change(owner, name, lambda original: lambda *given, **named: alter(original(*given, **named)))


def given(owner: Any, name: str, **forced: Any) -> Patch:
    """Calls a function with other arguments than those it is given."""
    return change(owner, name, lambda original: lambda *a, **named: original(*a, **{**named, **forced}))


def without(owner: Any, name: str) -> Patch:
    """Replaces a context manager by one that does nothing."""
    return change(owner, name, lambda _: lambda *_args: nullcontext())


def rule(name: str, alter: Callable[[Callable[..., Any]], Callable[..., Any]]) -> Patch:
    """Alters the factory of an optimizer's update rule."""

    def patch(monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(optimizer_factory.FACTORIES, name, alter(optimizer_factory.FACTORIES[name]))

    return patch


def setting(name: str, **forced: Any) -> Patch:
    """Builds an update rule with other settings than those it is given."""
    return rule(name, lambda factory: lambda **settings: factory(**{**settings, **forced}))


def graph(alter: Callable[[Any], bool], names: tuple[str, ...] = ("train",)) -> Patch:
    """Alters nodes of the frozen graphs `names`; fails unless `alter` says that it altered one."""

    def make(freeze: Callable[..., Any]) -> Callable[..., Any]:
        def frozen(trace: Any, *layers: Any) -> Any:
            graph_def = freeze(trace, *layers)
            if trace.graph.name in names:
                altered = [alter(node) for node in graph_def.node]
                assert any(altered), "nothing was altered"
            return graph_def

        return frozen

    return change(bundle_writer, "freeze", make)


def op(old: str, new: str) -> Callable[[Any], bool]:
    """Makes all ops of one kind ops of another that takes the same inputs."""

    def alter(node: Any) -> bool:
        found = node.op == old
        if found:
            node.op = new
        return bool(found)

    return alter


def without_activation(node: Any) -> bool:
    """Forgets the activation that was fused with a matrix product."""
    fused = node.attr["fused_ops"].list.s if node.op == "_FusedMatMul" else []
    if len(fused) < 2:
        return False
    del fused[1:]
    return True


def scaled_constants(factor: float) -> Callable[[Any], bool]:
    """Multiplies constants of floats, such as rates and epsilons."""

    def alter(node: Any) -> bool:
        if node.op != "Const" or node.attr["dtype"].type != tf.float32.as_datatype_enum:
            return False
        value = tf.make_ndarray(node.attr["value"].tensor)
        node.attr["value"].tensor.CopyFrom(tf.make_tensor_proto(value * factor))
        return True

    return alter


def forwarded(**forced: Any) -> Patch:
    """Runs the model as in training, or as outside it."""
    return change(
        tracer.Tracer,
        "_forward",
        lambda forward: (
            lambda self, variables, batch, training: forward(
                self, variables, batch, **({"training": training} | forced)
            )
        ),
    )


def old_state(forward: Callable[..., Any]) -> Callable[..., Any]:
    """Forgets what layers wrote into their state."""

    def run(self: Any, variables: Any, batch: Any, training: bool) -> Any:
        outputs, _, added = forward(self, variables, batch, training)
        return outputs, self.layout.split_state(batch.state), added

    return run


def without_added_losses(forward: Callable[..., Any]) -> Callable[..., Any]:
    """Forgets the losses that layers and regularizers add."""
    return lambda *given, **named: (*forward(*given, **named)[:2], [])


def swapped(split: Callable[..., Any]) -> Callable[..., Any]:
    """Exchanges the last two variables of one shape."""

    def run(vector: Any, entries: Any) -> Any:
        parts = split(vector, entries)
        shapes = [entry.shape for entry in entries]
        twins = [(a, b) for b in range(len(shapes)) for a in range(b) if shapes[a] == shapes[b]]
        if twins:
            a, b = twins[-1]
            parts[a], parts[b] = parts[b], parts[a]
        return parts

    return run


def trainable(flag: bool, layer: str) -> Patch:
    """Freezes or thaws one layer of the model as read."""

    def altered(model: Any) -> Any:
        model.get_layer(layer).trainable = flag
        return model

    return after(bundle_writer, "load_model", altered)


def other_rate(factory: Callable[..., Any]) -> Callable[..., Any]:
    """Learns by another rate than told."""

    def make(**settings: Any) -> Any:
        made = factory(**settings)

        def update(trainable: Any, slots: Any, gradient: Any, rate: Any, step: Any) -> Any:
            return made.update(trainable, slots, gradient, rate * 1.01, step)

        return replace(made, update=update)

    return make


def kept_without_scale(self: Any, inputs: Any, rate: float, **_: Any) -> Any:
    """Drops values without making up for them."""
    return inputs * tf.cast(self._draw(inputs.shape) >= rate, inputs.dtype)


def kept_otherwise(self: Any, inputs: Any, rate: float, **_: Any) -> Any:
    """Keeps the values that should be dropped."""
    return inputs / (1.0 - rate) * tf.cast(self._draw(inputs.shape) < 1.0 - rate, inputs.dtype)


def of_all_rows(reduce: Callable[..., Any]) -> Callable[..., Any]:
    """Counts padding as if it were examples."""
    return lambda values, mask, rows, reduction: reduce(
        values, mask, Rows(rows.weight, tf.ones_like(rows.exists)), reduction
    )


def scheduled() -> Any:
    """A rate that falls at each step."""
    return keras.optimizers.SGD(keras.optimizers.schedules.ExponentialDecay(0.1, 1, 0.5))


def by(optimizer: Callable[[], Any]) -> Callable[[], Any]:
    """The plain network with an optimizer."""
    return lambda: models.optimized(optimizer())


SEVERAL, IMAGE, CLASSES, RANDOM, SEQUENCE = (
    models.several_outputs,
    models.image,
    models.classes,
    models.random,
    models.sequence,
)
ADAM, MOMENTUM = by(lambda: keras.optimizers.Adam(0.01)), by(lambda: keras.optimizers.SGD(0.1, 0.9))
NESTEROV = by(lambda: keras.optimizers.SGD(0.1, 0.9, nesterov=True))
DECAYED = by(lambda: keras.optimizers.AdamW(0.01, weight_decay=0.5))
CLIPPED = by(lambda: keras.optimizers.SGD(0.1, clipnorm=0.01))
ACCUMULATED = by(lambda: keras.optimizers.SGD(0.1, gradient_accumulation_steps=2))
BY_CLASS = {"class_weight": (0.2, 1.0, 3.0)}
EXCLUDED = {"optimizer": {"name": "adamw", "weight_decay": 0.5, "exclude_from_weight_decay": ["bias"]}}

MUTATIONS: dict[str, Mutation] = {
    # Losses and metrics.
    "losses swapped": Mutation(SEVERAL, after(objective_selection, "compiled_losses", lambda r: r[::-1])),
    "metrics swapped": Mutation(
        SEVERAL, after(objective_selection, "compiled_metrics", lambda r: tuple(part[::-1] for part in r))
    ),
    "weights of losses ignored": Mutation(SEVERAL, after(objective_selection, "_weight", lambda _: 1.0)),
    "regularization dropped": Mutation(SEVERAL, change(tracer.Tracer, "_forward", without_added_losses)),
    "padding counted in losses": Mutation(CLASSES, change(losses, "reduce_rows", of_all_rows)),
    "weights of examples ignored": Mutation(
        CLASSES, after(Rows, "of", lambda rows: Rows(rows.exists, rows.exists))
    ),
    "weights of classes ignored": Mutation(
        CLASSES,
        change(objective_selection.Objectives, "weigh_classes", lambda _: lambda _self, _y, rows: rows),
        BY_CLASS,
    ),
    "label smoothing dropped": Mutation(
        IMAGE, change(objective_selection, "compiled_loss", lambda load: lambda loss: load(type(loss)()))
    ),
    "logits taken as probabilities": Mutation(
        CLASSES, change(objective_selection, "compiled_loss", lambda load: lambda loss: load(type(loss)()))
    ),
    # Padding.
    "padding in batch statistics": Mutation(IMAGE, without(tracer, "exact_padding")),
    "padding in activity regularizers": Mutation(SEVERAL, without(tracer, "exact_activities")),
    "masks read in forward order": Mutation(SEQUENCE, without(tracer, "exact_recurrence")),
    # The forward pass.
    "trained as outside training": Mutation(IMAGE, forwarded(training=False)),
    "predicted as in training": Mutation(IMAGE, forwarded(training=True)),
    "state not updated": Mutation(IMAGE, change(tracer.Tracer, "_forward", old_state)),
    "outputs swapped": Mutation(
        SEVERAL, after(tracer.Tracer, "_infer", lambda result: (result[0][::-1], result[1]))
    ),
    "dropout without scale": Mutation(
        RANDOM, change(random_inputs.Draws, "dropout", lambda _: kept_without_scale)
    ),
    "dropout of the others": Mutation(
        RANDOM, change(random_inputs.Draws, "dropout", lambda _: kept_otherwise)
    ),
    "noise of another size": Mutation(RANDOM, given(random_inputs.Draws, "normal", stddev=0.31)),
    "gelu by tanh": Mutation(IMAGE, change(activations, "_gelu", lambda _: activations._gelu_of_tanh)),
    "resized by the nearest": Mutation(IMAGE, given(images, "resize", interpolation="nearest")),
    "another epsilon": Mutation(
        IMAGE,
        change(normalization, "standardized", lambda f: lambda x, axes, e: f(x, axes, e * 1.1)),
    ),
    "bins off by one": Mutation(CLASSES, after(categorical, "digitize", lambda bins: bins + 1)),
    # Weights and gradients.
    "a frozen variable trained": Mutation(SEVERAL, trainable(True, "frozen")),
    "a variable frozen": Mutation(SEVERAL, trainable(False, "hidden")),
    "twin variables swapped": Mutation(SEVERAL, change(vector_layout, "_split", swapped)),
    "gradient negated": Mutation(
        RANDOM, change(tracer, "join", lambda join: lambda parts: join([-part for part in parts]))
    ),
    "gradient of one variable lost": Mutation(
        RANDOM,
        change(tracer, "join", lambda join: lambda parts: join([*parts[:-1], tf.zeros_like(parts[-1])])),
    ),
    # Optimizers.
    "adam without bias correction": Mutation(
        ADAM, after(update_rules, "one_minus_powers", lambda powers: [tf.ones_like(p) for p in powers])
    ),
    "another beta": Mutation(ADAM, setting("adam", beta_2=0.99)),
    "another epsilon of adam": Mutation(ADAM, setting("adam", epsilon=1e-4)),
    "another learning rate": Mutation(MOMENTUM, rule("sgd", other_rate)),
    "momentum dropped": Mutation(MOMENTUM, setting("sgd", momentum=0.0)),
    "nesterov ignored": Mutation(NESTEROV, setting("sgd", nesterov=False)),
    "weight decay dropped": Mutation(
        DECAYED, change(update_wrappers, "decayed", lambda _: lambda made, *_args: made)
    ),
    "biases decayed": Mutation(
        DECAYED,
        change(
            update_wrappers, "decayed", lambda f: lambda made, decay, _, layout: f(made, decay, (), layout)
        ),
        EXCLUDED,
    ),
    "clipping dropped": Mutation(
        CLIPPED, change(optimizer_factory.Optimizer, "_clip", lambda _: lambda *_args: lambda g: g)
    ),
    "clipped by the whole": Mutation(
        CLIPPED,
        change(
            update_wrappers,
            "clip_by_norm",
            lambda _: lambda limit, _l: update_wrappers.clip_by_global_norm(limit),
        ),
    ),
    "schedule a step ahead": Mutation(
        by(scheduled),
        change(
            optimizer_factory,
            "_schedule",
            lambda f: lambda *given: partial(lambda s, p: s(p + 1.0), f(*given)),
        ),
    ),
    "constraint dropped": Mutation(
        MOMENTUM, change(update_wrappers, "constrained", lambda _: lambda vector, _layout: vector)
    ),
    "gradients accumulated over more steps": Mutation(
        ACCUMULATED,
        change(update_wrappers, "accumulated", lambda f: lambda made, steps, clip: f(made, steps + 1, clip)),
    ),
    # Ops of the frozen graphs.
    "relu dropped": Mutation(SEVERAL, graph(without_activation)),
    "tanh made a sigmoid": Mutation(SEVERAL, graph(op("Tanh", "Sigmoid"), ("predict",))),
    "subtraction made an addition": Mutation(MOMENTUM, graph(op("Sub", "AddV2"))),
    "squares made identities": Mutation(RANDOM, graph(op("Square", "Identity"))),
    "constants off by a thousandth": Mutation(IMAGE, graph(scaled_constants(1.001))),
    "greater made smaller": Mutation(RANDOM, graph(op("GreaterEqual", "Less"))),
}
