"""Finds the loss, weight and metrics that `model.compile` gave each output; Keras itself matches them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from keras import tree
from keras.src.trainers import compile_utils

from converter.refusal import Refusal
from converter.tracing.attribute_patch import patched_attributes

# What Keras raises where the arguments of `compile` do not fit the model's outputs.
_FAULTS = (KeyError, TypeError, ValueError, IndexError)


@dataclass(frozen=True)
class _Match:
    """An argument of `compile`, and the number of the output (or the nest of numbers) that it is for."""

    argument: Any
    output: Any
    name: str | None = None


@dataclass(frozen=True)
class CompiledLoss:
    """The loss of one output as `compile` took it, and its weight, None for 1."""

    argument: Any
    weight: Any


def compiled_losses(model: Any) -> list[CompiledLoss | None]:
    """Returns each output's loss, None for an output without one. Raises Refusal."""
    compiled = getattr(model, "_compile_loss", None)
    losses: list[CompiledLoss | None] = [None] * len(model.outputs)
    if compiled is None or compiled._user_loss is None:
        return losses
    numbers = _numbered_outputs(model)
    matcher = compile_utils.CompileLoss(
        compiled._user_loss, compiled._user_loss_weights, output_names=compiled.output_names
    )

    def loss_of(argument: Any, _label: Any, output: Any) -> _Match:
        return _Match(argument, output)

    with patched_attributes(compile_utils, {"get_loss": loss_of}):
        _match("losses", lambda: matcher.build(numbers, numbers))
    for _, match, weight, _ in matcher._flat_losses:
        if not isinstance(match.output, int):
            raise _bad(
                "The model was compiled with one loss for several outputs together; give each output its own."
            )
        if losses[match.output] is not None:
            raise _bad(
                f"The model was compiled with several losses for its output {match.output + 1}; add them up "
                "in one function and bring it with --custom, or write one `loss` under [model]."
            )
        losses[match.output] = CompiledLoss(match.argument, weight)
    return losses


def compiled_metrics(model: Any) -> tuple[list[list[Any]], list[list[Any]]]:
    """Returns each output's `metrics` and `weighted_metrics`. Raises Refusal."""
    compiled = getattr(model, "_compile_metrics", None)
    plain: list[list[Any]] = [[] for _ in model.outputs]
    weighted: list[list[Any]] = [[] for _ in model.outputs]
    if compiled is None:
        return plain, weighted
    numbers = _numbered_outputs(model)
    matcher = compile_utils.CompileMetrics(
        compiled._user_metrics, compiled._user_weighted_metrics, output_names=compiled.output_names
    )

    def metrics_of(argument: Any, _label: Any, output: Any, name: str | None = None) -> _Match:
        return _Match(argument, output, name)

    with patched_attributes(compile_utils, {"get_metrics_list": metrics_of}):
        _match("metrics", lambda: matcher.build(numbers, numbers))
    for entries, matches in ((plain, matcher._flat_metrics), (weighted, matcher._flat_weighted_metrics)):
        for match in matches:
            if match is not None and match.argument is not None:
                arguments = match.argument
                entries[match.output] = (
                    list(arguments) if isinstance(arguments, list | tuple) else [arguments]
                )
    return plain, weighted


def _numbered_outputs(model: Any) -> Any:
    """Returns the nest of the model's outputs with 0, 1, ... in their flattened order."""
    graph = getattr(model, "_functional", None) or model
    return tree.pack_sequence_as(graph._outputs_struct, list(range(len(model.outputs))))


def _match(word: str, match: Callable[[], None]) -> None:
    try:
        match()
    except _FAULTS as error:
        reason = " ".join(str(error).split())[:300].rstrip(".")
        raise _bad(
            f"Keras cannot train with the {word} that the model was compiled with: {reason}. Compile it with "
            "one entry for each output, by the key or the name of the output, and save it again."
        ) from error


def _bad(message: str) -> Refusal:
    return Refusal(message, "bad-task")
