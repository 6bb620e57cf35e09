"""Trains by a plan in TensorFlow, on the same batches in the same order as the browser's worker."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice

import numpy as np

from backend.errors import PeerError
from backend.numerics.philox import MAX_EXAMPLES
from backend.numerics.scaffold import control_change
from backend.numerics.walk import Walk
from backend.peer.data.shards import Examples, zero_examples
from backend.peer.training.graphs import Graphs, Tensor, import_tensorflow
from backend.peer.training.noise import Noise
from backend.peer.training.private_step import ExampleClip
from backend.peer.training.step import Carry, Halt, Sums, Vector, never, read_totals, step_of, totals_size
from backend.peer.training.training_state import StateSaver, TrainingState
from backend.protocols.client.training_pace import Stride

# A GPU works asynchronously: the host waits for it at this interval in seconds, so that a training ends in
# time.
WAIT_EVERY = 0.1
REPORT_EVERY = 0.25


@dataclass(frozen=True)
class Control:
    """SCAFFOLD's control variates [T]: the server's and the client's own."""

    server: Vector
    own: Vector


@dataclass(frozen=True)
class TrainingPlan:
    """The training that one round asks of a client.

    `steps` 0 makes as many as `epochs` need; the first `first_step` steps are skipped, and not among `steps`.
    `batch_size` None is the bundle's; `past_steps` is the position in a learning-rate schedule; `proximal_mu`
    is FedProx's, 0 for none. `ends` is the deadline by `time.monotonic`, for engines that run several steps
    before they ask whether to halt.
    """

    epochs: int
    learning_rate: float
    seed: int
    steps: int = 0
    batch_size: int | None = None
    past_steps: int = 0
    first_step: int = 0
    proximal_mu: float = 0.0
    control: Control | None = None
    privacy: ExampleClip | None = None
    ends: float | None = None


@dataclass(frozen=True)
class TrainingProgress:
    """The mean loss over the examples so far, after `step` of `steps`."""

    step: int
    steps: int
    loss: float


@dataclass(frozen=True)
class TrainingResult:
    """The `update` [P], local minus global, and the `change` [T] of the control variate, if any.

    `examples` counts each visit to an example; `steps` of `planned` were done. `end` [P] are the weights
    after them, None where the update was changed for its privacy. `checkpoints` are the SHA-256 of a unit's
    weights after some steps (`protocols.replay.checkpoints`), where the engine tells them.
    """

    update: Vector
    change: Vector | None
    examples: int
    steps: int
    planned: int
    loss: float
    sums: Sums
    step_ms: float
    end: Vector | None = None
    checkpoints: Sequence[str] = ()

    def content(self) -> bytes:
        """Returns the bytes to send: the update, little-endian."""
        return self.update.astype("<f4", copy=False).tobytes()


class Trainer:
    """Runs plans on the train and apply graphs of one bundle; several threads may do so concurrently."""

    def __init__(self, graphs: Graphs) -> None:
        self._tf = import_tensorflow()
        self._manifest = graphs.manifest
        self.backend = graphs.backend
        # TensorFlow traces each combination of corrections once, so that unused ones cost nothing.
        self._step = self._tf.function(step_of(self._tf, graphs), autograph=False)

    def train(
        self,
        weights: Vector,
        plan: TrainingPlan,
        examples: Examples,
        halt: Halt,
        report: Callable[[TrainingProgress], None],
        saver: StateSaver | None = None,
    ) -> TrainingResult:
        """Trains from `weights` [P] over `examples`.

        `halt` may end it before any step; the result is then of the steps done. `report` is called at
        intervals, from this thread. With a `saver` it continues from a saved state, and saves its own; the
        result is the same. Raises PeerError when weights, examples or the plan do not fit, or
        TensorFlow fails (for example out of memory).
        """
        self._check(weights, plan, examples)
        try:
            return self._run(weights, plan, examples, halt, report, saver)
        except self._tf.errors.OpError as error:
            cause = error.message.partition("\n")[0]
            raise PeerError(
                f"TensorFlow failed ({cause}); a smaller batch or --device cpu may help."
            ) from error

    def _run(
        self,
        weights: Vector,
        plan: TrainingPlan,
        examples: Examples,
        halt: Halt,
        report: Callable[[TrainingProgress], None],
        saver: StateSaver | None,
    ) -> TrainingResult:
        walk = self._walk(plan)
        planned = walk.length(len(examples))
        started = reported = time.perf_counter()
        state = saver.start if saver else None
        begun = done = state.steps if state else 0
        carry = self._start(weights) if state is None else self._restored(state)
        for next_carry in self._steps(carry, plan, walk, weights, examples, halt, begun):
            done, carry = done + 1, next_carry
            if saver and saver.due() and done < planned:
                saver.save(partial(self._state, done, carry))
            if (now := time.perf_counter()) - reported > REPORT_EVERY and done < planned:
                reported = now
                _, loss, _ = read_totals(carry["totals"].numpy())
                report(TrainingProgress(done, planned, loss))
        count, loss, sums = read_totals(carry["totals"].numpy())
        end = self._end(carry)
        update = end - weights
        step_ms = 1000 * (time.perf_counter() - started) / max(done - begun, 1)
        report(TrainingProgress(done, planned, loss))
        change = self._change(plan, update, done) if done else None
        return TrainingResult(update, change, count, done, planned, loss, sums, step_ms, end)

    def _steps(
        self,
        carry: Carry,
        plan: TrainingPlan,
        walk: Walk,
        weights: Vector,
        examples: Examples,
        halt: Halt,
        begun: int,
    ) -> Iterator[Carry]:
        """Yields the carry after each step that follows the first `begun`.

        On a GPU the last few steps may still be running.
        """
        corrections, noise = self._corrections(plan, weights), Noise()
        microbatch = plan.privacy.microbatch if plan.privacy else 0
        rate = np.float32(plan.learning_rate)
        stride, waited, unfinished = Stride(), time.perf_counter(), 0
        for done, rows in islice(enumerate(walk.batches(len(examples))), begun, None):
            if halt(done, stride.step_seconds):
                return
            batch = examples.batch(rows, self._manifest.batch_size)
            key = np.array([plan.seed, done + 1, plan.past_steps])
            bound = self._bound(plan, noise)
            carry = self._step(carry, batch, rate, key, corrections, bound, microbatch)
            unfinished += 1
            if unfinished * stride.step_seconds >= WAIT_EVERY or done < begun + 2:
                carry["totals"].numpy()
                now = time.perf_counter()
                stride.stepped(now - waited, unfinished)
                waited, unfinished = now, 0
            yield carry

    def time_step(self) -> float:
        """Returns the milliseconds of one step on zeros, after a first one that lets TensorFlow trace."""
        manifest = self._manifest
        zeros = zero_examples(manifest, manifest.batch_size)
        weights = np.zeros(manifest.parameters.total, np.float32)
        plan = TrainingPlan(epochs=1, learning_rate=0.0, seed=0)
        self.train(weights, plan, zeros, never, lambda _: None)
        return self.train(weights, plan, zeros, never, lambda _: None).step_ms

    def _check(self, weights: Vector, plan: TrainingPlan, examples: Examples) -> None:
        sizes = self._manifest.parameters
        if weights.shape != (sizes.total,):
            raise PeerError(
                f"The version has {weights.size} values where the bundle has {sizes.total}; reload the task."
            )
        if not examples:
            raise PeerError("The plan holds no examples; tell the task's owner.")
        if len(examples) > MAX_EXAMPLES:
            raise PeerError(
                f"The plan holds over {MAX_EXAMPLES} examples; the task's owner must lower shards_per_client."
            )
        largest = self._manifest.batch_size
        if not 1 <= (plan.batch_size or largest) <= largest:
            raise PeerError(
                f"The plan asks for batches of {plan.batch_size}, the bundle takes 1 to {largest}; "
                "tell the task's owner."
            )
        if plan.privacy and (plan.privacy.clip <= 0.0 or plan.privacy.noise < 0.0):
            raise PeerError(
                "The plan's privacy of examples needs a clip above 0 and no negative noise; "
                "tell the task's owner."
            )
        if plan.control and plan.learning_rate <= 0.0:
            raise PeerError(
                "Control variates need a learning rate above 0; the task's owner must set another one."
            )

    def _walk(self, plan: TrainingPlan) -> Walk:
        batch_size = plan.batch_size or self._manifest.batch_size
        return Walk(plan.seed, plan.epochs, plan.steps, batch_size, plan.first_step)

    def _corrections(self, plan: TrainingPlan, weights: Vector) -> Mapping[str, Tensor]:
        """Returns the `corrections` of `step.corrected`, on the device for the whole training."""
        tf = self._tf
        constants: dict[str, Tensor] = {}
        if plan.proximal_mu:
            constants["start"] = tf.constant(weights[: self._manifest.parameters.trainable])
            constants["mu"] = tf.constant(plan.proximal_mu, tf.float32)
        if plan.control:
            constants["drift"] = tf.constant(plan.control.server - plan.control.own)
        return constants

    def _bound(self, plan: TrainingPlan, noise: Noise) -> Mapping[str, Tensor]:
        """Returns the `bound` of a private step (`step_of`) with new noise, empty for other steps."""
        if plan.privacy is None:
            return {}
        clip, size = plan.privacy.clip, self._manifest.parameters.trainable
        rows = plan.batch_size or self._manifest.batch_size
        return {
            "clip": np.float32(clip),
            "noise": noise.gaussian(size, plan.privacy.noise * clip),
            "microbatches": np.float32(-(-rows // plan.privacy.microbatch)),
        }

    def _change(self, plan: TrainingPlan, update: Vector, done: int) -> Vector | None:
        if plan.control is None:
            return None
        moved = update[: self._manifest.parameters.trainable]
        return control_change(plan.control.server, moved, done, plan.learning_rate)

    def _start(self, weights: Vector) -> Carry:
        tf, sizes = self._tf, self._manifest.parameters
        return {
            "trainable": tf.constant(weights[: sizes.trainable]),
            "state": tf.constant(weights[sizes.trainable :]),
            "slots": tf.zeros([self._manifest.optimizer.slots, sizes.trainable], tf.float32),
            "totals": tf.zeros([totals_size(self._manifest.metrics)], tf.float64),
        }

    def _restored(self, state: TrainingState) -> Carry:
        slots = state.slots.reshape(self._manifest.optimizer.slots, self._manifest.parameters.trainable)
        restored = {"slots": slots, "totals": state.totals}
        return self._start(state.weights) | {name: self._tf.constant(one) for name, one in restored.items()}

    def _state(self, done: int, carry: Carry) -> TrainingState:
        return TrainingState(
            done, self._end(carry), carry["slots"].numpy().reshape(-1), carry["totals"].numpy()
        )

    def _end(self, carry: Carry) -> Vector:
        return np.concatenate([carry["trainable"].numpy(), carry["state"].numpy()])
