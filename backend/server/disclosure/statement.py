"""Defines the parts of every scheme's disclosure, and its sentences on the readers of the model."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from backend.formats.task_file import TaskFile
from backend.translation import gettext


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
        yield gettext(
            "Your device fetches the examples from %(host)s, not from this server. That site sees your "
            "network address and the time, as if you had opened a page there."
        ) % {"host": origin_of(file)}


def origin_of(file: TaskFile) -> str:
    """Returns the host that clients fetch the examples from, in words."""
    return gettext("the server") if file.data.url is None else file.data.comes_from


def of_public_examples(file: TaskFile) -> str:
    """Returns what an update says that was computed from public examples."""
    return gettext(
        "It was computed from public examples from %(host)s: it shows how far your device got with them, "
        "and nothing else about you."
    ) % {"host": origin_of(file)}


def noised(file: TaskFile) -> bool:
    """Whether versions carry noise that hides single clients, or examples."""
    return file.privacy is not None and file.privacy.noise_multiplier > 0.0


def readers(file: TaskFile, promise: Iterable[str] = ()) -> Iterator[str]:
    """Yields what the readers of the model learn; `promise` has the figures of the privacy account."""
    if file.data.own and noised(file):
        whom = gettext("one example") if file.privacy and file.privacy.of_examples else gettext("one person")
        sentence = gettext(
            "Noise in every version limits what the model reveals about %(whom)s, to the server too."
        )
        if file.privacy and file.privacy.mechanism == "central":
            sentence = gettext("Noise in every version limits what the model reveals about %(whom)s.")
        yield sentence % {"whom": whom}
        yield from promise
    elif file.data.own:
        traces = gettext("The model keeps traces of its training examples, more so if there are few.")
        if file.security.masks:
            unlimited = gettext("Nothing here limits what it reveals about one person; masks do not either.")
        else:
            unlimited = gettext("Nothing here limits what it reveals about one person.")
        yield f"{traces} {unlimited}"
    else:
        yield gettext("The model is made of public examples: there is nothing of yours in it.")
    if terms := file.licence.model:
        yield gettext("Anybody can download every version, under %(terms)s. None can be called back.") % {
            "terms": terms
        }
    else:
        yield gettext(
            "Anybody can download every version, under terms that its owner has not stated. None can be "
            "called back."
        )
