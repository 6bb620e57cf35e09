"""States what others learn of volunteers of a decentralized task, whose peers average their updates.

The readers are those of rounds.py. The server does not aggregate: the members of a group see what it would.
"""

from __future__ import annotations

from collections.abc import Iterator

from backend.formats.task_file import TaskFile
from backend.protocols.mesh.allreduce.plan import LEAST_MASKED
from backend.server.disclosure.statement import Disclosure, Guarantee, data_host, of_public_examples, readers
from backend.translation import gettext


def disclose_mesh(file: TaskFile, _guarantee: Guarantee | None) -> Disclosure:
    """Returns the disclosure of a decentralized task."""
    return Disclosure(list(_server(file)), list(_participants(file)), list(readers(file)))


def _server(file: TaskFile) -> Iterator[str]:
    """Yields what the server learns, which introduces peers and keeps the record."""
    yield gettext(
        "No update of yours goes to the server: peers average among themselves. In a round it is brought the "
        "result of one group, so it learns the mean of that group's updates."
    )
    yield gettext(
        "It receives how many examples you trained on, your loss and results on them, which weights you "
        "have, whom you are connected to, and how fast."
    )
    if file.security.masks:
        yield gettext(
            "It says who averages with whom. One that invented peers could have you average with those "
            "alone, and would learn your update, masked or not."
        )
    else:
        yield gettext(
            "It says who averages with whom. One that invented peers could have you average with those "
            "alone, and would learn your update."
        )
    yield gettext(
        "Where two devices cannot reach each other, what they say goes through it, sealed: it sees how much, "
        "and not what."
    )
    if file.data.own and file.fraction_evaluate > 0.0:
        yield gettext("It is also told how well the model does on the examples that you hold out.")
    yield gettext(
        "It knows your device by a random number and a key, and what it computes with, when it takes part "
        "and how often. As for every web site, it sees your network address."
    )
    yield from data_host(file)


def _participants(file: TaskFile) -> Iterator[str]:
    """Yields what the other members of a group learn."""
    masks = file.security.masks
    yield from _of_masked() if masks else [_of_update(file)]
    if file.data.own and masks:
        yield gettext(
            "A sum says something of all of you together: after few steps, and in a small group, perhaps "
            "which labels there are, or whether a certain example is among them."
        )
    elif file.data.own:
        yield gettext(
            "An update says more than it seems to: which labels your examples have, whether a certain "
            "example is among them, and after few steps sometimes the examples themselves. Nothing hides it "
            "from your group here."
        )
    else:
        yield of_public_examples(file)
    yield gettext(
        "They see how many examples you trained on. Those connected to you directly see your network "
        "address, and recognize your device by its key when you return."
    )
    yield gettext("Like everyone, they see on this page how often your random number took part.")


def _of_masked() -> Iterator[str]:
    yield gettext(
        "Your update is masked on your device: the members of your group learn the sum of at least %(least)s "
        "updates, and nothing of yours alone."
    ) % {"least": LEAST_MASKED}
    yield gettext(
        "That holds while they do what the protocol says. A member that invented the loss of another, or "
        "kept what came too late to be added up, could get two sums and compare them; and all others "
        "together know what you gave."
    )
    yield gettext("Nobody can inspect a single update, so nobody sees whether one is implausibly large.")


def _of_update(file: TaskFile) -> str:
    averages, size = file.coordination.averages, file.coordination.averages.group_size
    whole = averages.exchange == "full" or (averages.exchange == "auto" and averages.reducer == "mean")
    if averages.exchange == "full":
        return gettext("Every member of your group is sent your whole update.")
    if averages.exchange == "ring":
        return gettext(
            "The member after you in the ring is sent your values of one part alone, and of the others added "
            "to those of members before you. There are up to %(size)s members."
        ) % {"size": size}
    parts = gettext(
        "Each member of your group, of up to %(size)s, is sent its own part of your update, and together "
        "they have all of it."
    ) % {"size": size}
    if whole:
        small = gettext("In groups of up to 4 members a small update is sent to every one of them whole.")
        return f"{parts} {small}"
    return parts
