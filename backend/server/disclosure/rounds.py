"""States what the server, other participants and readers of the model learn of volunteers of rounds.

The sentences are for volunteers before they join, and for owners who choose protections. Each states what
holds, its condition and its number; they also state what is not protected.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

from backend.formats.task_file import PrivacyTable, TaskFile
from backend.numerics.integrity.update_trend import WIDTH
from backend.server.disclosure.round_sizes import fewest_updates
from backend.server.disclosure.statement import (
    Disclosure,
    Guarantee,
    data_host,
    noised,
    of_public_examples,
    readers,
)
from backend.server.rounds.update_sketches import sketches_updates
from backend.translation import gettext, ngettext


def disclose_rounds(file: TaskFile, guarantee: Guarantee | None) -> Disclosure:
    """Returns the disclosure of a task in federated rounds, with its privacy account if there is one."""
    promise = list(_promise(file.privacy, guarantee)) if file.privacy and guarantee else []
    central = file.privacy is not None and file.privacy.mechanism == "central"
    server = _server(file, [] if central else promise)
    return Disclosure(
        list(server), list(_participants(file)), list(readers(file, promise if central else []))
    )


def _promise(privacy: PrivacyTable, guarantee: Guarantee) -> Iterator[str]:
    """Yields the account's figures and their meaning."""
    epsilon, whom = guarantee.epsilon, gettext("an example") if privacy.of_examples else gettext("you")
    if epsilon is None:
        yield guarantee.sentence
    elif epsilon > 0.0:
        meaning = gettext(
            "So anything they see is at most %(times)s times as likely with %(whom)s as without, except "
            "with probability %(delta)s."
        ) % {"times": _times(epsilon), "whom": whom, "delta": f"{guarantee.delta:g}"}
        yield f"{guarantee.sentence} {meaning}"
    else:
        yield gettext("Every round costs some privacy. There was none yet; this page will show the total.")
    if guarantee.budget is not None:
        yield gettext(
            "The task ends before epsilon passes %(budget)s (at most %(times)s times as likely)."
        ) % {
            "budget": f"{guarantee.budget:g}",
            "times": _times(guarantee.budget),
        }


def _times(epsilon: float) -> str:
    """Formats e to the power of epsilon for people."""
    times = math.exp(min(epsilon, 30.0))
    return f"{times:.2g}" if times < 100 else f"{times:,.0f}" if times < 1e6 else gettext("a million or more")


def _server(file: TaskFile, promise: Iterable[str]) -> Iterator[str]:
    if file.security.masks:
        yield from _masked(file)
    if "open" in file.security.aggregation:
        yield from _open(file)
    if file.security.groups > 1:
        yield gettext(
            "It splits the devices of a round into groups by lot, and compares the sums of the groups to "
            "withstand false updates: it may leave out the sum that yours is in."
        )
    elif file.security.robust is not None:
        yield gettext(
            "It compares the updates of a round with one another to withstand false ones, and may leave "
            "yours out, in whole or in part."
        )
    if sketches_updates(file):
        yield gettext(
            "To notice hidden attacks, it reduces each update to %(numbers)s numbers while the round lasts, "
            "and looks for a minority that points elsewhere. It keeps in memory in which direction such a "
            "minority of the last rounds points, and how large it is, and nothing of your device alone."
        ) % {"numbers": WIDTH}
    if file.security.reputation is not None:
        yield gettext(
            "If your updates look false in several rounds, they no longer count until they look right again. "
            "The server keeps how suspect they looked, and a code for your network, until the task or your "
            "account is deleted. The task's owner sees the first; other participants see neither."
        )
    if (kept := file.security.kept_updates) is not None:
        yield from _kept(kept.rounds)
    yield from promise
    yield gettext(
        "It knows your device by a random number, and what it computes with, when it takes part and how many "
        "updates came from it. As for every web site, it sees your network address."
    )
    yield from data_host(file)


def _kept(rounds: int) -> Iterator[str]:
    """Yields how long single updates are kept, and what for."""
    yield ngettext(
        "It keeps your update until %(count)s later round has ended with a new version, or the task is "
        "deleted, with your random number and the number of examples.",
        "It keeps your update until %(count)s later rounds have ended with a new version, or the task is "
        "deleted, with your random number and the number of examples.",
        rounds,
    ) % {"count": rounds}
    yield gettext(
        "From kept updates it works out what another rule would have made of a round. The task's owner sees "
        "the results, and which updates that rule leaves out. Nobody is sent a kept update."
    )


def _masked(file: TaskFile) -> Iterator[str]:
    masking, privacy = file.security.masked, file.privacy
    if privacy:
        masked = gettext(
            "Your update is masked on your device: the server reads the sum of at least %(least)s updates, "
            "with noise of which your device adds a share, and nothing of yours alone."
        )
    else:
        masked = gettext(
            "Your update is masked on your device: the server reads the sum of at least %(least)s updates, "
            "and of what they say of their losses and results, and nothing of yours alone."
        )
    yield masked % {"least": masking.min_clients}
    yield _trust(masking.server == "active", noisy=privacy is not None)
    yield gettext(
        "It can compare the sum of a round with you to the sum of another round without you. No update is "
        "in two sums, but a device's next update may resemble its previous one. The server chooses how "
        "devices train: a dishonest server can make the two rounds nearly equal and read your update. Only "
        "noise limits that."
    )
    if "open" in file.security.aggregation:
        yield gettext(
            "Devices that cannot mask send unmasked updates. The next page says whether yours masks, and "
            "lets you require it."
        )


def _trust(checked: bool, noisy: bool) -> str:
    """Returns what a dishonest server could do, with or without checks between devices."""
    if checked:
        return gettext(
            "Participants sign what they send and check one another, so a server that sends them different "
            "data is detected. Invented participants are detected by anyone who knows the real ones."
        )
    if noisy:
        return gettext(
            "This holds if the server follows the rules. A server that invented all other participants "
            "could remove your mask and see your update with only your share of the noise."
        )
    return gettext(
        "This holds if the server follows the rules. A server that invented all other participants could "
        "remove your mask."
    )


def _open(file: TaskFile) -> Iterator[str]:
    """Yields what a server learns from updates that it sees one by one."""
    if not file.data.own:
        yield f"{_seen_alone(file.security.masks)} {of_public_examples(file)}"
        return
    if file.privacy and file.privacy.mechanism == "local":
        yield gettext(
            "Your device limits the length of your update and adds noise before sending it: the server sees "
            "nothing else of it. It knows how many examples you have."
        )
        return
    if file.privacy and file.privacy.of_examples and file.privacy.noise_multiplier:
        cut = gettext(
            "While training, your device limits the effect of each single example and adds noise in every "
            "step."
        )
        yield f"{_seen_with_count(file.security.masks)} {cut}"
        yield gettext("What your examples have in common can still be seen.")
        return
    results = "" if file.privacy else gettext("It also sees your device's loss and results on them.")
    yield f"{_seen_with_count(file.security.masks)} {results}".rstrip()
    yield gettext(
        "An update reveals more than it seems to: your examples' labels, whether a certain example is among "
        "them, and after few steps sometimes the examples themselves."
    )
    if file.fraction_evaluate > 0.0:
        yield gettext("It also learns the model's results on your held-out examples.")


def _seen_alone(masks: bool) -> str:
    if masks:
        return gettext("Without masks the server sees your single update.")
    return gettext("The server sees your single update.")


def _seen_with_count(masks: bool) -> str:
    if masks:
        return gettext("Without masks the server sees your single update, with the number of your examples.")
    return gettext("The server sees your single update, with the number of your examples.")


def _participants(file: TaskFile) -> Iterator[str]:
    yield gettext(
        "They are never sent your update. Like everybody they see each version of the model, which all "
        "updates of a round make together, and on this page how much came from your random number."
    )
    if file.data.own:
        yield from _small_rounds(file)
    if file.security.masks:
        yield gettext(
            "In a masked round they keep sealed shares of your keys, so that it survives when somebody "
            "leaves. Shares open an update only if most of them and the server work together against you."
        )


def _small_rounds(file: TaskFile) -> Iterator[str]:
    """Yields what a reader learns by comparing two consecutive versions of the model."""
    fewest = fewest_updates(file)
    if fewest == 1 and noised(file):
        yield gettext(
            "A version may consist of one update. Anyone who compares it with the previous version can "
            "compute that update, apart from its noise."
        )
    elif fewest == 1:
        yield gettext(
            "A version may consist of one update. Anyone who compares it with the previous version can "
            "compute that update."
        )
    elif fewest == 2 and noised(file):
        yield gettext(
            "A version may consist of two updates. The sender of the other one can subtract it and get "
            "yours, apart from its noise."
        )
    elif fewest == 2:
        yield gettext(
            "A version may consist of two updates. The sender of the other one can subtract it and get yours."
        )
