"""Decides whether a task's results have the same bits everywhere, and checks that they can have them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from backend.formats.task_file.task_file import TaskFile

# "required": only clients of the backend `exact` take part. "preferred": their results are compared by hash.
Exactness = Literal["required", "preferred", "off"]

# Kinds of public files that browsers and Python do not decode to the same bits, and why.
_DECODED = {
    "image": "a browser decodes pictures by its own rules",
    "audio": "a browser computes spectrograms by its own rounding",
    "text": "a browser normalises Unicode by its own version of it",
}
_SHARDS = 'Take data.source = "shards"'
_LEAVE_OUT = "or leave training.exact out"


def exactness(file: TaskFile) -> Exactness:
    """Returns `training.exact`; by default "preferred" for work units on shards, else "off"."""
    if file.training.exact is not None:
        return file.training.exact
    return "preferred" if file.coordination.volunteer and file.data.source == "shards" else "off"


def exactness_conflicts(file: TaskFile) -> Iterator[str]:
    """Yields a sentence for each setting that conflicts with `training.exact`, with an alternative."""
    chosen = file.training.exact
    if chosen is None or chosen == "off":
        return
    if chosen == "preferred" and not file.coordination.volunteer:
        yield (
            'training.exact = "preferred" has a server compare results of the same work, as only scheme = '
            '"volunteer" does. Take "required", or leave it out.'
        )
    where = f'training.exact = "{chosen}"'
    if file.data.own is not None:
        yield (
            f'{where} cannot be combined with data.source = "volunteer": each browser decodes its own files, '
            f"and no other device has them to compute the same. {_SHARDS}, {_LEAVE_OUT}."
        )
    kind = None if file.data.preprocess is None else str(file.data.preprocess.__struct_config__.tag)
    if file.data.url is not None and kind in _DECODED:
        yield (
            f'{where} cannot be combined with data.source = "url" and preprocess.kind = "{kind}": '
            f"{_DECODED[kind]}, so the examples would differ. {_SHARDS}, which holds them decoded, "
            f"{_LEAVE_OUT}."
        )
    if file.privacy is not None and file.privacy.mechanism != "central":
        yield (
            f'{where} cannot be combined with privacy.mechanism = "{file.privacy.mechanism}": each device '
            "adds secret noise to what it computes, so no two results are equal. Take mechanism = "
            f'"central", {_LEAVE_OUT}.'
        )
