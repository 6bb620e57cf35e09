"""States what others learn of volunteers of a decentralized task, whose peers average their updates.

The readers are those of rounds.py. The server does not aggregate: the members of a group see what it would.
"""

from __future__ import annotations

from collections.abc import Iterator

from backend.formats.task_file import ByzantineTable, TaskFile
from backend.protocols.mesh.allreduce.plan import LEAST_MASKED
from backend.server.disclosure.statement import Disclosure, Guarantee, data_host, of_public_examples, readers
from backend.translation import gettext
from backend.wire.mesh_fields import MOST_IN_GROUP


def disclose_mesh(file: TaskFile, _guarantee: Guarantee | None) -> Disclosure:
    """Returns the disclosure of a decentralized task."""
    return Disclosure(list(_server(file)), list(_participants(file)), list(readers(file)))


def _server(file: TaskFile) -> Iterator[str]:
    """Yields what the server learns, which introduces peers and keeps the record."""
    yield gettext(
        "The server never receives your update: peers average among themselves. In each round one group's "
        "result is uploaded, so the server learns the mean of that group's updates."
    )
    yield gettext(
        "It learns how many examples you trained on, your loss and results on them, which weights you have, "
        "which peers you are linked with, and how fast the links are."
    )
    if file.security.masks:
        yield gettext(
            "It forms the groups. A dishonest server could group you with invented peers only, and would "
            "learn your update, masked or not."
        )
    else:
        yield gettext(
            "It forms the groups. A dishonest server could group you with invented peers only, and would "
            "learn your update."
        )
    yield gettext(
        "If two devices cannot reach each other, the server relays their data, sealed: it sees the amount, "
        "not the content."
    )
    if file.data.own and file.fraction_evaluate > 0.0:
        yield gettext("It also learns the model's results on your held-out examples.")
    yield gettext(
        "It knows your device by a random number and a key, and what it computes with, when it takes part "
        "and how often. As for every web site, it sees your network address."
    )
    yield from data_host(file)


def _participants(file: TaskFile) -> Iterator[str]:
    """Yields what the other members of a group learn."""
    masks, checks = file.security.masks, file.coordination.byzantine
    yield from _of_masked() if masks else [_of_update(file)]
    if checks is not None:
        yield from _of_checks(checks)
    if file.data.own and masks:
        yield gettext(
            "A sum reveals something about the whole group: after few steps in a small group, perhaps which "
            "labels occur, or whether a certain example is present."
        )
    elif file.data.own:
        yield gettext(
            "An update reveals more than it seems to: your examples' labels, whether a certain example is "
            "among them, and after few steps sometimes the examples themselves. Nothing hides it from your "
            "group here."
        )
    else:
        yield of_public_examples(file)
    yield gettext(
        "They learn how many examples you trained on. Peers linked directly with you see your network "
        "address, and recognize your device by its key when you return."
    )
    yield gettext("Like everyone, they see on this page how often your random number took part.")


def _of_masked() -> Iterator[str]:
    yield gettext(
        "Your update is masked on your device: the members of your group learn the sum of at least %(least)s "
        "updates, and nothing of yours alone."
    ) % {"least": LEAST_MASKED}
    yield gettext(
        "This holds if they follow the protocol. A member that falsely reports another as lost, or keeps "
        "data that arrived too late for the sum, could compare two sums; and all other members together can "
        "compute your update."
    )
    yield gettext("Nobody can inspect a single update, so nobody sees whether one is implausibly large.")


def _of_checks(chosen: ByzantineTable) -> Iterator[str]:
    """Yields what members that check each other learn, and keep."""
    if chosen.validators:
        yield gettext(
            "Members check each other's work: in some rounds one of them, drawn by lot, is sent your whole "
            "update and does your work again."
        )
    yield gettext(
        "Members keep what your device signs. If it proves a lie, they ban your device's key from this task, "
        "and anyone can check the proof."
    )


def _of_update(file: TaskFile) -> str:
    averages, size = file.coordination.averages, file.coordination.averages.group_size
    whole = averages.exchange == "full" or (averages.exchange == "auto" and averages.reducer == "mean")
    if file.coordination.byzantine is not None:
        size, whole = MOST_IN_GROUP, False
    if averages.exchange == "full":
        return gettext("Every member of your group is sent your whole update.")
    if averages.exchange == "ring":
        return gettext(
            "The member after you in the ring receives your values of one part alone, and your values of "
            "the other parts added to those of members before you. There are up to %(size)s members."
        ) % {"size": size}
    parts = gettext(
        "Each member of your group, of up to %(size)s, is sent its own part of your update, and together "
        "they have all of it."
    ) % {"size": size}
    if whole:
        small = gettext("In groups of up to 4 members a small update is sent to every one of them whole.")
        return f"{parts} {small}"
    return parts
