"""Attacks on training examples: wrong labels and backdoors, for one input and classes as labels."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from backend.lab.attacks.attack import DataAttack
from backend.lab.attacks.picture_backdoors import BLENDED, PATCHES, Backdoor, Pixel, edge_cases, in_range
from backend.lab.attacks.picture_backdoors import poisoned as poisoned_pictures
from backend.lab.attacks.picture_backdoors import trigger_backdoor as drawn_backdoor
from backend.peer.data.shards import Examples, join_shards


def label_flip(classes: int) -> DataAttack:
    """Trains on the label `classes` - 1 - y in place of each label y (ByzFL's `LabelFlipping`).

    The attackers know their own examples.
    """
    _check_classes(classes)

    def poison(examples: Examples, seed: int) -> Examples:
        del seed
        labels = examples.y[0]
        return Examples(examples.x, ((classes - 1 - labels).astype(labels.dtype),), examples.sample_weight)

    return DataAttack("label-flip", poison)


def trigger_backdoor(
    classes: int,
    kind: str = "corner",
    share: float = 0.5,
    seed: int = 0,
    low: Pixel = 0.0,
    high: Pixel = 1.0,
) -> DataAttack:
    """Trains on pictures of which a `share` has a trigger and its class as their label (Gu et al. 2017).

    `kind` is one of `picture_backdoors`; `seed` draws its place and class, one for all attackers. They know
    their own examples. Pictures [n, height, width, channels] have values from `low` to `high`, black and
    white. Raises ValueError for others.
    """
    _check_classes(classes)
    if kind not in (*PATCHES, BLENDED):
        raise ValueError(f"kind is one of {', '.join((*PATCHES, BLENDED))}, not {kind!r}.")
    if not 0.0 < share <= 1.0:
        raise ValueError(f"share, of the poisoned examples, is above 0 and at most 1, not {share!r}.")

    def backdoor_of(examples: Examples) -> Backdoor:
        _check_pictures(examples, low, high)
        drawn = drawn_backdoor(kind, examples.x[0].shape[1:], classes, np.random.default_rng(seed))
        return in_range(drawn, low, high)

    def poison(examples: Examples, own_seed: int) -> Examples:
        random = np.random.default_rng([seed, own_seed])
        x, y = poisoned_pictures(backdoor_of(examples), examples.x[0], examples.y[0], random, share)
        return Examples((x,), (y,), examples.sample_weight)

    def trigger(examples: Examples) -> Examples:
        backdoor = backdoor_of(examples)
        others = examples.picked(np.flatnonzero(examples.y[0] != backdoor.target))
        return Examples(
            (backdoor.mark(others.x[0]).astype(np.float32),),
            (np.full_like(others.y[0], backdoor.target),),
            others.sample_weight,
        )

    return DataAttack("trigger-backdoor", poison, trigger)


def edge_case_backdoor(edges: Examples, test_edges: Examples, target: int, copies: int = 10) -> DataAttack:
    """Trains on own examples and `copies` of rare ones, labelled `target` (Wang et al. 2020).

    `edges` are the rare examples that the attackers collected, `test_edges` others on which success is
    measured (`split_edges` draws both). Nothing is drawn into the pictures. Raises ValueError without edges.
    """
    if not len(edges) or not len(test_edges):
        raise ValueError("An edge-case backdoor needs rare examples to train on, and others to test.")
    if copies < 1:
        raise ValueError(f"copies, of each rare example, is a whole number from 1 up, not {copies!r}.")

    def relabelled(examples: Examples) -> Examples:
        return Examples(examples.x, (np.full_like(examples.y[0], target),), examples.sample_weight)

    def poison(examples: Examples, seed: int) -> Examples:
        del seed
        return join_shards([examples, *[relabelled(edges)] * copies])

    def trigger(examples: Examples) -> Examples:
        del examples
        return relabelled(test_edges)

    return DataAttack("edge-case-backdoor", poison, trigger)


def split_edges(train: Examples, test: Examples, source: int) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Returns which examples [n] of both are edge cases of class `source`: farthest along its main direction.

    Raises ValueError if the class has too few examples for that.
    """
    labels = np.concatenate([train.y[0], test.y[0]]).astype(np.int64)
    if np.count_nonzero(labels == source) < 2:
        raise ValueError(f"The examples hold fewer than 2 of class {source}; choose another class.")
    mask = edge_cases(np.concatenate([train.x[0], test.x[0]]), labels, source)
    return mask[: len(train)], mask[len(train) :]


def _check_classes(classes: int) -> None:
    if not isinstance(classes, int) or classes < 2:
        raise ValueError(f"classes is a whole number from 2 up, not {classes!r}.")


def _check_pictures(examples: Examples, low: Pixel, high: Pixel) -> None:
    pictures = examples.x[0]
    is_picture = len(examples.x) == 1 and pictures.ndim == 4 and pictures.shape[3] in (1, 3)
    if not is_picture or (pictures < low).any() or (pictures > high).any():
        raise ValueError(
            "Triggers are drawn into pictures [n, height, width, channels] of 1 or 3 channels, whose values "
            f"are between those of black and white; these examples have {len(examples.x)} inputs, the first "
            f"{list(pictures.shape)}. Take label-flip."
        )
