"""Trains a bundle beside Keras and refuses it where the two differ."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import keras
import numpy as np

from converter.conversion_task import ConversionTask
from converter.decompositions.sums import open_batch_sums
from converter.objectives.joint_objectives import JointObjectives
from converter.refusal import Refusal
from converter.tracing.failed_calls import keras_reason
from converter.tracing.tracer import Traced, Tracer
from converter.validation.second_opinion.bundle_run import BundleRun
from converter.validation.second_opinion.double_precision import double_precision
from converter.validation.second_opinion.joint_copy import JointCopy
from converter.validation.second_opinion.keras_copy import KerasCopy
from converter.validation.second_opinion.model_copy import ModelCopy
from converter.validation.second_opinion.sample_batches import SampleBatch, sample_batches
from converter.validation.second_opinion.step_pair import Comparison, StepPair, UnusableBatchError

LIMIT = 1e-4
# Keras' own numbers move when float32 rounds its weights otherwise: in deep networks with batch normalization
# by some per cent. Those of a bundle may move further, since every layer adds in another order, but never as
# far as WORST.
NOISE_FACTOR, WORST = 10.0, 0.2
# Where Keras' own numbers move by more, a difference tells of rounding.
UNSTABLE = 1e-3


def second_opinion(
    tracer: Tracer,
    task: ConversionTask,
    traces: Mapping[str, Traced],
    graphs: Mapping[str, Any],
    model_file: Path,
    custom: Path | None = None,
) -> dict[str, Any]:
    """Compares frozen graphs with Keras on a padded and a weighted batch; returns the manifest's `checked`.

    `model_file` is the bundle's model.keras. Raises Refusal where Keras itself cannot train the model, where
    no weight has a gradient, and where outputs, losses, metrics, gradients or steps differ by more than
    LIMIT.
    """
    copy = _copy(model_file, task, tracer, custom)
    run = BundleRun(graphs, traces)

    @contextmanager
    def load_float64() -> Iterator[ModelCopy]:
        with double_precision(model_file) as file:
            yield _copy(file, task, tracer, custom)

    pair = StepPair(tracer, copy, run, load_float64)
    try:
        # Step by step Keras knows the batch's length, which it does not in `fit`.
        with open_batch_sums():
            comparison = _first_usable(pair, tracer)
    finally:
        run.close()
    worst = {name: _short(value) for name, value in comparison.by_kind().items()}
    return {
        "worst": max(worst.values(), default=0.0),
        "rounding": _short(comparison.rounding),
        "differences": worst,
        "random": comparison.random,
    }


def _copy(model_file: Path, task: ConversionTask, tracer: Tracer, custom: Path | None) -> ModelCopy:
    try:
        if isinstance(tracer.objectives, JointObjectives):
            return JointCopy(model_file, tracer.model, task, tracer.model_ports, tracer.objectives, custom)
        return KerasCopy(model_file, tracer.model, task, tracer.model_ports, tracer.objectives, custom)
    except (Refusal, MemoryError):
        raise
    except Exception as error:  # the owner's own code may raise anything
        raise Refusal(f"Keras cannot compile the model: {keras_reason(error, 400)}.") from error


def _first_usable(pair: StepPair, tracer: Tracer) -> Comparison:
    """Returns the first comparison within the limits, over batches of several kinds of numbers."""
    unusable: UnusableBatchError | None = None
    wrong: dict[str, float] = {}
    comparison = Comparison()
    for batches in sample_batches(tracer.model, tracer.model_ports, tracer.objectives, tracer.batch_size):
        try:
            comparison = _compared(pair, batches)
        except UnusableBatchError as fault:
            unusable = unusable or fault
            continue
        wrong = _wrong(comparison)
        if not wrong:
            return comparison
        if not all(map(_is_metric, wrong)):
            break
        if comparison.rounding > LIMIT:
            # Where rounding moves the outputs that far, it also decides what a metric counts.
            for name in wrong:
                del comparison.differences[name]
            return comparison
        # A number that lies on a metric's threshold may fall on either side; other numbers will tell.
    if unusable is not None and not wrong:
        raise unusable.refusal
    if all(map(_is_metric, wrong)):
        _refuse_areas_of_logits(tracer)
    raise refusal_of(wrong, comparison.noise())


def _kind(comparison: Comparison, name: str) -> str:
    """Returns the kind of numbers; metrics share nothing with each other."""
    return name if _is_metric(name) else comparison.kinds.get(name, "")


def _is_metric(name: str) -> bool:
    return name.startswith("the metric")


def refusal_of(wrong: Mapping[str, float], noise: Mapping[str, float]) -> Refusal:
    """Returns the refusal of a bundle that differs from Keras by `wrong`.

    Where Keras' own numbers move by `noise`, rounding is the cause and no code of the owner's.
    """
    name = max(wrong, key=lambda key: wrong[key])
    if noise.get(name, 0.0) > UNSTABLE:
        return Refusal(
            f"Float32 is not precise enough for this model: {name} differs by {wrong[name]:.2g} from that of "
            f"Keras, which itself moves by {noise[name]:.2g} where weights are rounded otherwise. Batch "
            "normalization over few numbers does so, and so do deep networks without training: raise "
            "batch_size under [model], enlarge the inputs, or begin with trained weights."
        )
    return Refusal(
        f"The bundle would not train as Keras does: {name} differs by {wrong[name]:.2g} "
        f"(at most {LIMIT:g} is allowed). Write that part of the model with Keras' own layers, losses "
        "and keras.ops."
    )


def _refuse_areas_of_logits(tracer: Tracer) -> None:
    """Refuses a metric that differs because it is given numbers that are no probabilities."""
    for output, metric in tracer.objectives.measured:
        if isinstance(metric.metric, keras.metrics.AUC) and not metric.metric._from_logits:
            raise Refusal(
                f"The metric {metric.name} wants probabilities, which the output {output} does not seem to "
                "be; end it with sigmoid or softmax, or set from_logits = true.",
                "bad-task",
            )


def _compared(pair: StepPair, batches: tuple[SampleBatch, SampleBatch]) -> Comparison:
    try:
        return pair.compare(batches)
    except (Refusal, UnusableBatchError, MemoryError):
        raise
    except Exception as error:  # the owner's own code may raise anything
        message = f"Keras itself cannot take a training step of this model: {keras_reason(error, 400)}."
        raise UnusableBatchError(Refusal(message)) from error


def _wrong(comparison: Comparison) -> dict[str, float]:
    """Returns what differs by more than float32 explains."""
    found, limits = comparison.differences.items(), comparison.limits
    wrong = {name: value for name, value in found if not value <= limits.get(name, LIMIT)}
    # A metric such as accuracy may jump where a number crosses a threshold.
    if wrong and all(value < WORST for name, value in wrong.items() if not _is_metric(name)):
        noise = comparison.noise()
        # Where rounding moves numbers this far, they cross thresholds in any layer, and all before it move.
        most: dict[str, float] = {}
        for name, moved in noise.items():
            kind = _kind(comparison, name)
            most[kind] = max(moved if moved > UNSTABLE else 0.0, most.get(kind, 0.0))
        allowed = {name: max(noise.get(name, 0.0), most.get(_kind(comparison, name), 0.0)) for name in wrong}
        comparison.rounding = max((allowed[name] for name in wrong if not _is_metric(name)), default=0.0)
        return {name: value for name, value in wrong.items() if value > NOISE_FACTOR * allowed[name]}
    return wrong


def _short(value: float) -> float:
    """Rounds up to one digit, so that the manifest hardly depends on the machine's order of additions."""
    if value <= 0.0:
        return 0.0
    unit = 10.0 ** np.floor(np.log10(value))
    return float(f"{np.ceil(value / unit) * unit:.0e}")
