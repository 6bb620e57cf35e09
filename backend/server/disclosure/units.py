"""States what others learn of volunteers of work units, whose results enter the model one by one.

The readers are those of rounds.py. All examples are public, and no update is masked.
"""

from __future__ import annotations

from collections.abc import Iterator

from backend.formats.task_file import TaskFile, Units
from backend.server.disclosure.statement import Disclosure, Guarantee, of_public_examples, readers
from backend.server.units.provisional.room import may_be_provisional
from backend.translation import gettext


def disclose_units(file: TaskFile, _guarantee: Guarantee | None) -> Disclosure:
    """Returns the disclosure of a task of work units."""
    if file.coordination.units is None:
        raise ValueError("The task has rounds.")
    server = _server(file, file.coordination.units)
    return Disclosure(list(server), list(_participants(file, file.coordination.units)), list(readers(file)))


def _server(file: TaskFile, units: Units) -> Iterator[str]:
    """Yields what the server learns, which leases units and compares results."""
    seen = gettext("The server sees your single result.")
    yield f"{seen} {of_public_examples(file)}"
    if units.trust.comparison != "none":
        yield gettext(
            "It compares your results with others' results on the same examples, and stores with your "
            "random number how many were right: trusted clients are checked less often. You lose trust only "
            "if a peer of the owner refutes a result, not if others outvote it or it is late."
        )
    yield gettext(
        "It remembers which units you had, when, and how long each took, to give you units that your device "
        "can finish in time; the owner of this task sees that."
    )
    yield gettext(
        "It knows your device by that random number, and what it computes with, and which shards it keeps. "
        "As for every web site, it sees your network address."
    )


def _participants(file: TaskFile, units: Units) -> Iterator[str]:
    """Yields what other volunteers learn."""
    yield gettext(
        "They are never sent your result. But each result is blended into the model when it arrives, and "
        "the next client receives that model: comparing two models shows roughly what was blended in between."
    )
    yield gettext("On this page they see how much came from your random number.")
    yield _made_up(file, units)


def _made_up(file: TaskFile, units: Units) -> str:
    """States whether strangers can bring made-up results into the model."""
    if units.trust.comparison == "none":
        return gettext("No results are compared here: a made-up result enters the model.")
    if may_be_provisional(file, units):
        return gettext(
            "Some may send made-up results, which may be in the model for a while. A peer of the owner "
            "repeats samples while it is connected. If it refutes one, all unrepeated results of its sender "
            "are removed from the model. A sender of only a few may not be detected."
        )
    if units.trust.trusted:
        return gettext(
            "Some may send made-up results. While a peer of the owner is connected it repeats samples, and "
            "results that it refutes do not count."
        )
    return gettext(
        "Some may send made-up results. Accomplices can confirm each other's, and after a few good results "
        "a single client can send some that are not compared. These enter the model: this task's owner runs "
        "no peer that would detect them."
    )
