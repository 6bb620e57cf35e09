"""Attacks what each protection shows of volunteers' updates, and measures how alike the pictures are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from backend.crypto.random_words import KEY_BYTES
from backend.errors import SettingsError
from backend.lab.leakage.inversion import (
    AttackEffort,
    PixelRange,
    deep_leakage,
    improved_deep_leakage,
    invert_gradient,
)
from backend.lab.leakage.lab_round import LabRound
from backend.lab.leakage.lab_task import LabTask
from backend.lab.leakage.label_restoration import Labels, labels_of_batch, restored_share
from backend.lab.leakage.matching import CandidateGradients, GradientMatcher, Observation, Pixels
from backend.lab.leakage.server_views import PROTECTIONS, ProtectionSettings, ServerView
from backend.lab.leakage.similarity import Picture, ssim
from backend.peer.training.graphs import import_tensorflow

ATTACKS = {
    "dlg": "Deep Leakage from Gradients (Zhu et al. 2019)",
    "idlg": "iDLG (Zhao et al. 2020)",
    "inversion": "Inverting Gradients (Geiping et al. 2020)",
}
# The number of other examples whose mean probabilities the attacker knows.
_KNOWN_EXAMPLES = 256
# Views of one volunteer.
_SINGLE = frozenset({"open", "masked", "local", "examples"})
# The seeds of a round's plans; more than it has volunteers.
_SEEDS = 1000
# How often as many other pictures as a sum holds are compared with each original.
_GUESSES = 25
Report = Callable[[int, int, str], None]


@dataclass(frozen=True)
class LeakageSettings:
    """What to attack: `trials` rounds whose volunteers have `examples` each, under these protections.

    `attacks` are names of ATTACKS. DLG is for single pictures, so that views of several need another one.
    """

    protections: Sequence[str]
    attacks: Sequence[str]
    trials: int
    examples: int
    seed: int
    effort: AttackEffort
    protection: ProtectionSettings


@dataclass(frozen=True)
class Reconstruction:
    """The reconstruction that is most like one original, by the attack that made it.

    It is chosen with the original in hand, which no attacker can: protections are judged by their worst case.
    """

    attack: str
    similarity: float
    picture: Picture


@dataclass(frozen=True)
class ProtectionResult:
    """The results of one protection: a reconstruction for each original, `attacks` by mean similarity.

    `labels` is the mean share of the seen volunteers' labels that were restored; `inferred` whether the
    gradient was inferred from the update exactly.
    """

    protection: str
    inferred: bool
    labels: float
    attacks: dict[str, float]
    reconstructions: list[Reconstruction]

    @property
    def similarity(self) -> float:
        """The mean similarity of the reconstructions."""
        return float(np.mean([one.similarity for one in self.reconstructions]))


@dataclass(frozen=True)
class LeakageReport:
    """The results of one run.

    `unrelated` is the mean similarity of two different pictures of the task, `guessed` that of a picture to
    the most similar of as many others as are in a sum.
    """

    task: str
    parameters: int
    steps: int
    settings: LeakageSettings
    originals: list[Picture]
    unrelated: float
    guessed: float
    results: list[ProtectionResult]


class LeakageExperiment:
    """Runs all attacks on a task; `scratch` is an empty folder for converted copies of its graphs."""

    def __init__(self, task: LabTask, settings: LeakageSettings, scratch: Path) -> None:
        _check(task, settings)
        self._task, self._settings, self._scratch = task, settings, scratch
        self._candidates: dict[int, CandidateGradients] = {}
        axes = tuple(range(task.pool.x[0].ndim - 1))
        x = task.pool.x[0].astype(np.float64)
        self._pixels = PixelRange(x.min(axis=axes), x.max(axis=axes))
        self._generator = np.random.default_rng(settings.seed)
        self._probabilities = self._mean_probabilities()

    def run(self, report: Report) -> LeakageReport:
        """Attacks each protection in each trial; `report` is called with attacks done, all, and the next."""
        settings, results = self._settings, dict[str, list[ProtectionResult]]()
        originals: list[Picture] = []
        total, steps = settings.trials * len(settings.protections), 0
        for trial in range(settings.trials):
            group = self.trial(trial)
            steps = group.steps
            originals += list(self._originals(group))
            for name in settings.protections:
                done = sum(len(one) for one in results.values())
                report(done, total, f"attacking: {PROTECTIONS[name].title.lower()}")
                results.setdefault(name, []).append(self._attack(name, group))
        others = self._similarities_to_others(originals)
        return LeakageReport(
            task=self._task.file.name,
            parameters=self._task.manifest.parameters.total,
            steps=steps,
            settings=settings,
            originals=originals,
            unrelated=float(others.mean()),
            guessed=float(others.max(axis=1).mean()),
            results=[_joined(results[name]) for name in settings.protections],
        )

    def trial(self, number: int) -> LabRound:
        """Trains the volunteers of a round, with examples and seeds of its own."""
        task = self._task
        seed = self._settings.seed + _SEEDS * (number + 1)
        return LabRound(task.graphs, task.weights, task.training, task.pool, self._members(), seed)

    def _attack(self, name: str, group: LabRound) -> ProtectionResult:
        """Attacks one view of a round."""
        key = self._generator.bytes(KEY_BYTES)
        view = PROTECTIONS[name].view(group, self._settings.protection, key)
        gradient = group.gradient_of(view.update)
        count = view.volunteers * self._settings.examples
        labels = labels_of_batch(gradient.values[self._task.bias], self._probabilities, count)
        random = group.random_inputs(view.volunteers)
        observation = Observation(gradient, random)
        found = self._reconstruct(observation, labels)
        originals = self._originals(group)
        levels = {attack: self._pixels.levels(pictures) for attack, pictures in found.items()}
        chosen = {
            attack: [_most_alike(attack, one, seen) for one in originals] for attack, seen in levels.items()
        }
        best = [max(of_one, key=lambda one: one.similarity) for of_one in zip(*chosen.values(), strict=True)]
        means = {attack: float(np.mean([one.similarity for one in ones])) for attack, ones in chosen.items()}
        return ProtectionResult(name, gradient.exact, self._labels(view, group, labels), means, best)

    def _reconstruct(self, observation: Observation, labels: Labels) -> dict[str, Pixels]:
        """Returns the pictures of each attack that applies."""
        settings, known = self._settings, [int(label) for label in labels]
        effort, seed, count = settings.effort, settings.seed, len(known)
        matcher = GradientMatcher(self._candidates_of(count), observation)
        found: dict[str, Pixels] = {}
        if "dlg" in settings.attacks and count == 1:
            classes = self._task.classes
            every_class = GradientMatcher(self._candidates_of(classes), observation)
            found["dlg"], _ = deep_leakage(every_class, classes, self._pixels, effort, seed)
        if "idlg" in settings.attacks:
            found["idlg"] = improved_deep_leakage(matcher, known, self._pixels, effort, seed)
        if "inversion" in settings.attacks:
            found["inversion"] = invert_gradient(matcher, known, self._pixels, effort, seed)
        return found

    def _candidates_of(self, rows: int) -> CandidateGradients:
        """Returns the candidates for `rows` pictures at once, made at their first use."""
        if rows not in self._candidates:
            graphs = self._task.graphs_for(rows, self._scratch)
            self._candidates[rows] = CandidateGradients(graphs, self._task.weights)
        return self._candidates[rows]

    def _originals(self, group: LabRound) -> Picture:
        """Returns the attacked volunteer's pictures [examples, ...] as levels."""
        return self._pixels.levels(self._task.pool.x[0][group.members[0]])

    def _labels(self, view: ServerView, group: LabRound, restored: Labels) -> float:
        rows = np.concatenate(group.members[: view.volunteers])
        return restored_share(restored, self._task.pool.y[0][rows].astype(np.int64))

    def _members(self) -> list[NDArray[np.int64]]:
        """Draws different examples for each volunteer of a round."""
        settings = self._settings
        count = settings.protection.group * settings.examples
        drawn = self._generator.choice(len(self._task.pool), count, replace=False)
        return list(drawn.reshape(settings.protection.group, settings.examples))

    def _mean_probabilities(self) -> NDArray[np.float64]:
        """Returns the model's mean probabilities [classes] on examples that the attacker has."""
        tf, size = import_tensorflow(), self._task.manifest.batch_size
        pool, summed, seen = self._task.pool, np.zeros(self._task.classes), 0
        for first in range(0, min(_KNOWN_EXAMPLES, len(pool)), size):
            rows = np.arange(first, min(first + size, len(pool)))
            sizes = self._task.manifest.parameters
            inputs = {"trainable": self._task.weights[: sizes.trainable], **pool.batch(rows, size)}
            if sizes.state:
                inputs["state"] = self._task.weights[sizes.trainable :]
            outputs = self._task.graphs.run["predict"]({k: tf.constant(v) for k, v in inputs.items()})
            summed += outputs["output_0"].numpy()[: len(rows)].sum(axis=0)
            seen += len(rows)
        probabilities: NDArray[np.float64] = summed / seen
        return probabilities

    def _similarities_to_others(self, originals: Sequence[Picture]) -> NDArray[np.float64]:
        """Returns similarities to other pictures [guesses, pictures of a sum], of all originals."""
        count = self._settings.protection.group * self._settings.examples
        rows = []
        for original in originals:
            for _ in range(_GUESSES):
                drawn = self._generator.choice(len(self._task.pool), count, replace=False)
                others = self._pixels.levels(self._task.pool.x[0][drawn])
                rows.append([ssim(original, other) for other in others])
        return np.array(rows)


def _check(task: LabTask, settings: LeakageSettings) -> None:
    """Raises SettingsError where the settings do not fit the task."""
    batch, group = task.training.batch_size, settings.protection.group
    if settings.examples > batch:
        raise SettingsError(
            f"--examples is {settings.examples}, over the {batch} of one step of this task; give fewer."
        )
    single = settings.examples == 1 and _SINGLE.issuperset(settings.protections)
    if tuple(settings.attacks) == ("dlg",) and not single:
        raise SettingsError(
            "DLG reconstructs single pictures, and a sum or several examples have more; add another --attack."
        )
    if "dlg" in settings.attacks and task.classes > task.manifest.batch_size:
        raise SettingsError(
            f"DLG needs a row for each of the {task.classes} classes, and the graphs take "
            f"{task.manifest.batch_size}; choose other attacks with --attack."
        )
    seen = settings.examples * group
    if seen > task.manifest.batch_size:
        raise SettingsError(
            f"{group} volunteers with {settings.examples} examples each are {seen} pictures to reconstruct "
            f"from a sum; this task's graphs take {task.manifest.batch_size}. Lower --group or --examples."
        )
    if seen > len(task.pool):
        raise SettingsError(f"The task's data hold {len(task.pool)} examples, and {seen} are needed.")


def _most_alike(attack: str, original: Picture, pictures: Picture) -> Reconstruction:
    """Returns the picture of an attack that is most like the original."""
    similarities = [ssim(original, picture) for picture in pictures]
    best = int(np.argmax(similarities))
    return Reconstruction(attack, similarities[best], pictures[best])


def _joined(trials: Sequence[ProtectionResult]) -> ProtectionResult:
    """Returns the results of all trials of one protection as one."""
    attacks = {
        attack: float(np.mean([trial.attacks[attack] for trial in trials])) for attack in trials[0].attacks
    }
    return replace(
        trials[0],
        inferred=all(trial.inferred for trial in trials),
        labels=float(np.mean([trial.labels for trial in trials])),
        attacks=attacks,
        reconstructions=[one for trial in trials for one in trial.reconstructions],
    )
