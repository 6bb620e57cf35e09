"""Takes the same steps with Keras and with a bundle and measures every number of both."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from converter.refusal import Refusal
from converter.tracing.tracer import Tracer
from converter.validation.second_opinion.bundle_run import BundleRun, metric_values
from converter.validation.second_opinion.differences import difference, part_differences
from converter.validation.second_opinion.fixed_draws import OtherDrawsError
from converter.validation.second_opinion.model_copy import ModelCopy
from converter.validation.second_opinion.rounding_noise import Place, float64_noise, nudged_noise
from converter.validation.second_opinion.sample_batches import SampleBatch

# As `row_squares`: the squares are those of the gradient's own values.
OWN_SQUARES = -1.0
# Ftrl subtracts two roots of sums of squares, whose difference float32 knows to about a thousandth.
FTRL_LIMIT = 1e-3
Vector = NDArray[np.float32]
Feeds = dict[str, NDArray[Any]]


class UnusableBatchError(Exception):
    """A batch says nothing about the bundle; `refusal` is the reason if no other batch does better."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(str(refusal))
        self.refusal = refusal


@dataclass
class Comparison:
    """Differences by what differs, such as `the gradient of dense/kernel`.

    `noise` computes how far each of Keras' own numbers moves when its weights are rounded otherwise, and
    `rounding` is the largest of them that explained a difference. `limits` are allowed where float32 does not
    reach the usual one. `random` says how random layers were
    compared, None without any.
    """

    noise: Callable[[], Mapping[str, float]] = dict
    random: str | None = None
    rounding: float = 0.0
    differences: dict[str, float] = field(default_factory=dict)
    kinds: dict[str, str] = field(default_factory=dict)
    limits: dict[str, float] = field(default_factory=dict)

    def add(self, kind: str, found: Mapping[str, float]) -> None:
        """Adds the differences of one kind of numbers; the larger one counts where a name is known."""
        for name, value in found.items():
            self.kinds[name] = kind
            self.differences[name] = max(value, self.differences.get(name, 0.0))

    def by_kind(self) -> dict[str, float]:
        """Returns the worst difference of each kind."""
        worst: dict[str, float] = {}
        for name, value in self.differences.items():
            worst[self.kinds[name]] = max(value, worst.get(self.kinds[name], 0.0))
        return worst


class StepPair:
    """A bundle and its model in Keras, which take the same steps; `load_float64` gives a copy in float64."""

    def __init__(
        self,
        tracer: Tracer,
        copy: ModelCopy,
        run: BundleRun,
        load_float64: Callable[[], AbstractContextManager[ModelCopy]],
    ) -> None:
        self._tracer, self._layout, self._copy, self._run = tracer, tracer.layout, copy, run
        self._load_float64 = load_float64
        self._trainable = [entry.name for entry in self._layout.entries if entry.trainable]
        self._state = [entry.name for entry in self._layout.entries if not entry.trainable]
        self._check_weights()

    def compare(self, batches: tuple[SampleBatch, SampleBatch]) -> Comparison:
        """Predicts, evaluates and takes a step with each batch. Raises UnusableBatchError."""
        vector = self._layout.values()
        slots = np.zeros((self._tracer.optimizer.slots, self._layout.trainable), np.float32)
        uniforms = self._uniforms()
        # Where the weights began, and where each step began: a step may lead to where rounding matters more.
        draws = list(uniforms.values())
        places = [Place(batch, vector, draws) for batch in batches]
        comparison = Comparison(lambda: self._noise(places))
        self._copy.reset()
        self._compare_inference(comparison, batches, vector)
        parts = self._tracer.objectives.trained(len(self._trainable))
        moved = [False] * len(parts)
        for number, batch in enumerate(batches, 1):
            self._copy.assign(vector)
            feeds = {**self._vectors(vector), **batch.feeds(), **uniforms}
            taken = self._compare_training(comparison, batch, feeds, number)
            gradients = self._split(taken["gradient"], trainable=True)
            moved = [
                was or any(gradients[number].any() for number in part)
                for was, part in zip(moved, parts, strict=True)
            ]
            fed = {**feeds, **taken, "slots": slots, **self._rates(number)}
            applied = self._run.run("apply", fed)
            slots = applied.get("new_slots", slots)
            vector = self._compare_change(comparison, vector, applied["new_trainable"])
            places += [Place(later, vector, draws) for later in batches[number:]]
        if not all(moved):
            raise UnusableBatchError(Refusal(self._tracer.objectives.without_gradient(moved.index(False))))
        return comparison

    def _check_weights(self) -> None:
        ours, theirs = self._layout.values(), self._copy.vector()
        if ours.shape != theirs.shape or not np.array_equal(ours, theirs):
            raise Refusal(
                "Keras reads other weights from the model's file than the converter; save the model again."
            )

    def _compare_inference(
        self, comparison: Comparison, batches: tuple[SampleBatch, SampleBatch], vector: Vector
    ) -> None:
        self._copy.assign(vector)
        padded, weighted = batches
        names = [f"the output {port.name}" for port in self._tracer.model_ports.outputs]
        theirs = self._copy.predict(padded)
        _check_finite(dict(zip(names, theirs, strict=True)), "predictions")
        ours = list(self._run.run("predict", {**self._vectors(vector), **padded.feeds()}).values())
        found = [difference(a, b) for a, b in zip(ours, theirs, strict=True)]
        comparison.add("outputs", dict(zip(names, found, strict=True)))
        # A layer may have changed its state while it predicted.
        self._copy.assign(vector)
        logs = self._copy.evaluate(weighted)
        _check_finite(logs, "evaluation")
        measured = self._run.run("evaluate", {**self._vectors(vector), **weighted.feeds()})
        self._compare_logs(comparison, measured, logs, "in an evaluation")

    def _compare_training(
        self, comparison: Comparison, batch: SampleBatch, feeds: Feeds, number: int
    ) -> Feeds:
        """Compares a training step; returns what Keras' optimizer took in, as `apply` is fed.

        Where draws differ, both take the bundle's gradient, dense.
        """
        stepped = self._run.run("train", feeds)
        ours = self._split(stepped["gradient"], trainable=True)
        uniforms = [feeds[name] for name in self._random_names()]
        state = self._copy.state_values()
        try:
            logs = self._copy.train(batch, uniforms)
        except OtherDrawsError:
            comparison.random = "inference"
            self._copy.assign(np.concatenate([feeds["trainable"], feeds["state"]]))
            self._copy.apply(ours)
            taken = {"gradient": stepped["gradient"]}
            if (squares := stepped.get("row_squares")) is not None:
                taken["row_squares"] = np.full_like(squares, OWN_SQUARES)
            return taken
        if uniforms and comparison.random is None:
            comparison.random = "fixed"
        theirs = self._copy.gradients
        _check_finite(logs, f"training step {number}")
        _check_finite(dict(zip(self._trainable, theirs, strict=True)), f"gradient of step {number}")
        self._compare_logs(comparison, stepped, logs, "in training")
        names = [f"the gradient of {name}" for name in self._trainable]
        comparison.add("gradient", part_differences(names, ours, theirs))
        length, wanted = (
            np.linalg.norm(np.concatenate([part.ravel() for part in parts])) for parts in (ours, theirs)
        )
        comparison.add("gradient norm", {"the length of the gradient": difference(length, wanted)})
        if self._state:
            after = self._split(stepped["new_state"], trainable=False)
            names = [f"the state {name}" for name in self._state]
            moved, wanted_move = (_moves(state, now) for now in (after, self._copy.state_values()))
            comparison.add("state", part_differences(names, moved, wanted_move, state))
        taken = {"gradient": np.concatenate([part.ravel() for part in theirs])}
        return taken | self._compare_tables(comparison, stepped)

    def _compare_tables(self, comparison: Comparison, stepped: Mapping[str, Any]) -> Feeds:
        """Compares the squares of what tables' reads contribute; returns Keras'."""
        reads = self._run.reads
        if not reads:
            return {}
        squares = self._copy.row_squares(reads)
        ends = np.cumsum([self._layout.entries[k].size for k in reads])[:-1]
        names = [self._trainable[k] for k in reads]
        parts = [f"the squares of reads of {name}" for name in names]
        ours, theirs = (np.split(vector, ends) for vector in (stepped["row_squares"], squares))
        comparison.add("gradient", part_differences(parts, ours, theirs))
        return {"row_squares": squares}

    def _compare_change(self, comparison: Comparison, vector: Vector, updated: Vector) -> Vector:
        """Compares the optimizer's step on the same gradient; returns Keras' vector after it."""
        after = self._copy.vector()
        before = self._split(vector[: self._layout.trainable], trainable=True)
        moved, wanted = (
            _moves(before, self._split(now[: self._layout.trainable], trainable=True))
            for now in (updated, after)
        )
        names = [f"the optimizer's step on {name}" for name in self._trainable]
        comparison.add("vector", part_differences(names, moved, wanted, before))
        if self._tracer.optimizer.name == "ftrl":
            comparison.limits |= dict.fromkeys(names, FTRL_LIMIT)
        return after

    def _compare_logs(
        self, comparison: Comparison, measured: Mapping[str, Any], logs: Mapping[str, float], when: str
    ) -> None:
        specs = self._tracer.objectives.metrics
        comparison.add("loss", {f"the loss {when}": difference(measured["loss"], logs["loss"])})
        if not self._copy.names_each_output:
            return
        theirs = {name: value for name, value in logs.items() if name != "loss"}
        ours = metric_values(specs, measured.get("metrics"))
        if set(ours) != set(theirs) and len(ours) == len(theirs):
            # A task file may name a metric otherwise than Keras does.
            ours = dict(zip(theirs, ours.values(), strict=True))
        found = {
            f"the metric {name} {when}": difference(ours.get(name, np.nan), value)
            for name, value in theirs.items()
        }
        found |= {f"the metric {name} {when}": np.inf for name in ours if name not in theirs}
        comparison.add("metrics", found)

    def _noise(self, places: Sequence[Place]) -> dict[str, float]:
        names = [port.name for port in self._tracer.model_ports.outputs]
        noise = float64_noise(self._copy, self._load_float64, self._layout, names, places)
        for place in places:
            found = nudged_noise(self._copy, self._layout, names, place)
            noise |= {name: max(value, noise.get(name, 0.0)) for name, value in found.items()}
        return noise

    def _uniforms(self) -> dict[str, Any]:
        generator = np.random.default_rng(7)
        tensors = {tensor.op.name: tensor for tensor in self._run.inputs("train")}
        return {
            name: generator.random(tensors[name].shape.as_list(), np.float32) for name in self._random_names()
        }

    def _random_names(self) -> list[str]:
        return [t.op.name for t in self._run.inputs("train") if t.op.name.startswith("random_")]

    def _vectors(self, vector: Vector) -> dict[str, Vector]:
        return {"trainable": vector[: self._layout.trainable], "state": vector[self._layout.trainable :]}

    def _rates(self, step: int) -> dict[str, Any]:
        rate = np.float32(self._tracer.optimizer.learning_rate)
        return {"learning_rate": rate, "step": np.float32(step), "past_steps": np.float32(0)}

    def _split(self, vector: Vector, trainable: bool) -> list[Vector]:
        """Splits the trainable part, or the state, of a flat vector into its variables."""
        begin = 0 if trainable else self._layout.trainable
        return [
            vector[entry.offset - begin : entry.offset - begin + entry.size].reshape(entry.shape)
            for entry in self._layout.entries
            if entry.trainable == trainable
        ]


def _moves(before: list[Vector], after: list[Vector]) -> list[Vector]:
    return [new - old for old, new in zip(before, after, strict=True)]


def _check_finite(numbers: Mapping[str, Any], where: str) -> None:
    for name, value in numbers.items():
        if not np.isfinite(value).all():
            raise UnusableBatchError(
                Refusal(
                    f"Keras' own numbers are not finite: {name} in the {where}, for examples from -1 to 2. "
                    "Check logarithms, roots, divisions and the learning rate."
                )
            )
