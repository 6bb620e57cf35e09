"""Defines the parts of every scheme's disclosure, and its sentences on the readers of the model."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from backend.formats.task_file import TaskFile


@dataclass(frozen=True)
class Disclosure:
    """Sentences by who learns something, the most important first.

    `server` runs the task, `participants` are the other volunteers, `readers` have the trained model.
    """

    server: list[str]
    participants: list[str]
    readers: list[str]


@dataclass(frozen=True)
class Guarantee:
    """The state of a privacy account: `sentence` is the account's own, `budget` may be None.

    `epsilon` is None if nothing is guaranteed, and 0 before the first round.
    """

    sentence: str
    epsilon: float | None
    delta: float
    budget: float | None


def data_host(file: TaskFile) -> Iterator[str]:
    """Yields what the host of the examples learns if clients fetch them from another server."""
    if file.data.url is not None:
        yield (
            f"Your device fetches the examples from {file.data.comes_from}, and not from this server. Who "
            "runs that sees your network address, and when you came, as if you had opened a page there."
        )


def noised(file: TaskFile) -> bool:
    """Whether versions carry noise that hides single clients, or examples."""
    return file.privacy is not None and file.privacy.noise_multiplier > 0.0


def readers(file: TaskFile, promise: Iterable[str] = ()) -> Iterator[str]:
    """Yields what the readers of the model learn; `promise` has the figures of the privacy account."""
    if file.data.own and noised(file):
        whom = "one example" if file.privacy and file.privacy.of_examples else "one person"
        too = "" if file.privacy and file.privacy.mechanism == "central" else ", as it does for the server"
        yield f"Noise in every version limits what the model gives away about {whom}{too}."
        yield from promise
    elif file.data.own:
        yield (
            "The model keeps traces of the examples it was made from, the more so the fewer there are. "
            "Nothing limits here what it gives away about one person"
            + (", masks neither." if file.security.masks else ".")
        )
    else:
        yield "The model is made of public examples: there is nothing of yours in it."
    terms = file.licence.model
    under = f"under {terms}" if terms else "under terms that its owner has not stated"
    yield f"Anybody can download every version, {under}. None can be called back."
