"""Steps with several optimizers at once, each on its own variables of the flat vector."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import tensorflow as tf

from converter.conversion_task import ConversionTask
from converter.optimizers.gradient import Gradient, ReadSum
from converter.optimizers.optimizer_factory import Optimizer, compiled_optimizer, make_optimizer, stacked
from converter.optimizers.settings import Value, refuse
from converter.tracing.vector_layout import Layout, join


@dataclass(frozen=True)
class PartOptimizers:
    """Several optimizers with the interface of Optimizer; `parts` are the numbers of their variables.

    `learning_rate` is the first one's rate; those of the others keep their ratio to it. A part that needs
    fewer slots than another leaves its share of the last rows as it is, zero.
    """

    names: tuple[str, ...]
    optimizers: tuple[Optimizer, ...]
    parts: tuple[tuple[int, ...], ...]

    @property
    def name(self) -> str:
        """Returns the optimizers' names, joined by +."""
        return "+".join(optimizer.name for optimizer in self.optimizers)

    @property
    def learning_rate(self) -> float:
        """Returns the rate of the first optimizer, or its factor 1.0 if it has a schedule."""
        return self.optimizers[0].learning_rate

    @property
    def slots(self) -> int:
        """Returns the number of rows [T], that of the optimizer which keeps most."""
        return max(optimizer.slots for optimizer in self.optimizers)

    @property
    def schedule(self) -> str | None:
        """Returns the schedules' names, joined by +; None without any."""
        return "+".join(one.schedule for one in self.optimizers if one.schedule) or None

    @property
    def hyperparameters(self) -> dict[str, Value]:
        """Returns the numbers and switches of all optimizers, as `objective.key`."""
        return {
            f"{name}.{key}": value
            for name, optimizer in zip(self.names, self.optimizers, strict=True)
            for key, value in optimizer.hyperparameters.items()
        }

    def table_reads(self, tables: Mapping[int, str]) -> dict[int, ReadSum]:
        """Returns what each optimizer needs of its tables, as `Optimizer.table_reads`, in layout order."""
        found: dict[int, ReadSum] = {}
        for optimizer, part in zip(self.optimizers, self.parts, strict=True):
            found |= optimizer.table_reads({k: name for k, name in tables.items() if k in part})
        return dict(sorted(found.items()))

    def step(
        self,
        layout: Layout,
        trainable: Any,
        slots: Any,
        gradient: Gradient,
        learning_rate: Any,
        step: Any,
        past_steps: Any = None,
    ) -> tuple[Any, Any]:
        """Takes one step with each optimizer; tensors as in `Optimizer.step`."""
        runs = self._runs([entry.size for entry in layout.entries if entry.trainable])
        weights, values = runs.cut(trainable), runs.cut(gradient.values)
        apart = None if gradient.read_squares is None else runs.cut(gradient.read_squares)
        rows = [] if slots is None else [runs.cut(row) for row in tf.unstack(slots)]
        updated, new_rows = [], []
        for number, optimizer in enumerate(self.optimizers):
            own = tuple(row[number] for row in rows)
            ratio = optimizer.learning_rate / self.learning_rate if number else 1.0
            rate = learning_rate if ratio == 1.0 else learning_rate * ratio
            moved, kept = optimizer.update(
                layout.part(self.parts[number]),
                weights[number],
                own[: optimizer.slots],
                Gradient(values[number], None if apart is None else apart[number]),
                rate,
                step,
                past_steps,
            )
            updated.append(moved)
            new_rows.append((*kept, *own[optimizer.slots :]))
        joined = tuple(runs.join(row) for row in zip(*new_rows, strict=True))
        return runs.join(updated), stacked(joined)

    def _runs(self, sizes: Sequence[int]) -> _Runs:
        owners = {number: part for part, numbers in enumerate(self.parts) for number in numbers}
        runs = [
            (part, sum(sizes[number] for number in run))
            for part, run in groupby(range(len(sizes)), key=lambda number: owners[number])
        ]
        return _Runs(tuple(part for part, _ in runs), tuple(size for _, size in runs))


@dataclass(frozen=True)
class _Runs:
    """The flat vector as runs of values: the part that each belongs to, and its length."""

    parts: tuple[int, ...]
    sizes: tuple[int, ...]

    def cut(self, vector: Any) -> list[Any]:
        """Returns one vector for each part."""
        pieces = list(zip(tf.split(vector, self.sizes), self.parts, strict=True))
        return [
            join([piece for piece, owner in pieces if owner == part]) for part in range(max(self.parts) + 1)
        ]

    def join(self, vectors: Sequence[Any]) -> Any:
        """Returns the vector of which `cut` gives the parts."""
        pieces = [iter(self._runs_of(part, vector)) for part, vector in enumerate(vectors)]
        return tf.concat([next(pieces[part]) for part in self.parts], 0)

    def _runs_of(self, part: int, vector: Any) -> list[Any]:
        sizes = [size for size, owner in zip(self.sizes, self.parts, strict=True) if owner == part]
        return tf.split(vector, sizes) if len(sizes) > 1 else [vector]


def objective_optimizers(
    model: Any, task: ConversionTask, parts: Sequence[tuple[int, ...]]
) -> Optimizer | PartOptimizers:
    """Builds the optimizers of a task's objectives, each of which trains the variables of one of `parts`.

    An objective without one takes that of [model], else the compiled model's. Raises Refusal that names the
    wrong key.
    """
    names = tuple(objective.name for objective in task.objectives)
    tables = [objective.optimizer or task.optimizer for objective in task.objectives]
    optimizers = [make_optimizer(table or compiled_optimizer(model)) for table in tables]
    if len(optimizers) == 1:
        return optimizers[0]
    if optimizers[0].learning_rate == 0.0:
        raise refuse(
            f"The learning rate of the first objective, {names[0]}, is 0, and the others are ratios to it; "
            "set it above 0."
        )
    return PartOptimizers(names, tuple(optimizers), tuple(parts))
