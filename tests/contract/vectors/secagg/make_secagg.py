"""Writes secagg.json: conversations that the Python and the TypeScript member of masked rounds replay.

Run `python -m tests.contract.vectors.secagg.make_secagg` after a change of the machine, and read the
difference. Bytes are base64.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from backend.protocols.secagg.member import MaskedMember, MemberStage
from backend.protocols.secagg.member_events import (
    ConsistencySignaturesChecked,
    Effect,
    Event,
    HostFailed,
    KeysMade,
    Planned,
    RevealMade,
    RosterChecked,
    SharesSealed,
    Stopped,
    SurvivorsSigned,
    Welcomed,
)
from backend.protocols.secagg.terms import Degree, degree, neighbours, signers
from backend.wire.masked_messages import Server
from backend.wire.messages import (
    Accepted,
)
from tests.contract.vectors import write
from tests.contract.vectors.secagg.secagg_inputs import (
    BUNDLE,
    CROWD,
    CROWD_NEIGHBOURS,
    ME,
    MEMBERS,
    OTHERS,
    SENDERS,
    VOUCHERS,
    abandoned,
    changed,
    checked,
    dealt,
    keys,
    opened,
    planned,
    revealed,
    roster,
    says,
    sealed,
    state,
    survivors,
    train,
    unmask,
    version,
    word,
)

FILE = Path(__file__).parents[1] / "secagg.json"


class Step(msgspec.Struct, frozen=True):
    """One event, what the machine asked for, and how it stood afterwards."""

    event: Event
    effects: list[Effect]
    stage: MemberStage
    latest: int
    members: int
    reason: str | None


class Conversation(msgspec.Struct, frozen=True):
    """A story on a new machine, or on one that went through the conversation `after`."""

    name: str
    after: str | None
    steps: list[Step]


class Graph(msgspec.Struct, frozen=True):
    """The degree for so many members, and who neighbours the first place on a ring of every seventh place.

    `signers` is how many must sign the survivors.
    """

    members: int
    server: Server
    degree: Degree
    signers: int
    ring: list[int]
    first: list[int]


class File(msgspec.Struct, frozen=True):
    """All of secagg.json."""

    conversations: list[Conversation]
    graphs: list[Graph]


SIGNED, WEIGHED, STOP = SurvivorsSigned(1, word(2, 8, 64)), ConsistencySignaturesChecked(1, []), Stopped()
MADE = KeysMade(keys(), 0)
ASKED: list[Event] = [planned(), MADE]
ROSTER: list[Event] = [*ASKED, roster(), checked()]
DEALING: list[Event] = [*ROSTER, sealed()]
MASKED: list[Event] = [*DEALING, dealt(), opened()]
LIED: list[Event] = [planned(server="active"), MADE, roster(), checked(), sealed(), dealt(), opened()]
VOUCHED: list[Event] = [*LIED, survivors(), SIGNED]
REVEALED: list[Event] = [*MASKED, unmask(), revealed()]
# With 65 members each has 28 neighbours, and 37 sign.
LARGE: list[Event] = [
    *ASKED, roster(1, CROWD), RosterChecked(1, list(range(65)), [], []),
    SharesSealed(1, [word(1, 6, 80)] * 28), dealt(CROWD_NEIGHBOURS), opened(),
]  # fmt: skip
EVERYBODY, SIGNERS = list(range(65)), list(range(37))

# Told once each; many stories go on from them.
BEGINNINGS = {
    "keys are sent": ASKED,
    "shares are sent": DEALING,
    "the update may be masked": MASKED,
    "the update may be masked, and the server may lie": LIED,
    "survivors are vouched for": VOUCHED,
    "the update may be masked in a large round": LARGE,
}
STORIES: dict[str, list[Event]] = {
    **BEGINNINGS,
    "a normal round": [*REVEALED, version(1), planned(2)],
    "a normal round where the server may lie": [
        *VOUCHED, unmask(vouchers=VOUCHERS), WEIGHED, revealed(), version(1),
    ],
    "the version is made while nothing was revealed": [*MASKED, version(1), unmask()],
    "who died is opened by its mask key, a survivor by its seed": [
        *DEALING, dealt(OTHERS), opened(), unmask(), revealed(5),
    ],
    "shares that cannot be opened keep nobody from masking": [
        *DEALING, dealt(), opened((1,)), unmask(), revealed(),
    ],
    "all is said again after a reconnection, and the round goes on": [
        *ASKED, Welcomed(), planned(seconds=41.5), roster(), checked(), Welcomed(), sealed(), Welcomed(),
        roster(), dealt(), Welcomed(), opened(), dealt(), unmask(), Welcomed(), revealed(), Welcomed(),
        unmask(),
    ],
    "a voucher is said again after a reconnection": [
        *LIED, survivors(), Welcomed(), SIGNED, survivors(), Welcomed(), unmask(vouchers=VOUCHERS),
        Welcomed(), WEIGHED, revealed(), Welcomed(), survivors(), unmask(vouchers=VOUCHERS),
    ],
    "unmasking does not wait for one's own voucher": [
        *LIED, survivors(), unmask(vouchers=[0, 1, 2, 3]), SIGNED, WEIGHED, revealed(),
    ],
    "who missed the survivors reveals for those that enough others vouch for": [
        *LIED, unmask(vouchers=VOUCHERS), WEIGHED, revealed(),
    ],
    "nobody is asked to vouch where the server is honest": [*MASKED, survivors(), unmask(), revealed()],
    "survivors of a large round are vouched for even where the server is honest": [
        *LARGE, survivors(EVERYBODY), SIGNED, unmask(EVERYBODY, SIGNERS), WEIGHED,
        RevealMade(1, [word(1, 7)] * 29),
    ],
    "refused: survivors of a large round for which nobody vouches": [*LARGE, unmask(EVERYBODY)],
    "refused: survivors of a large round for which too few vouch": [*LARGE, unmask(EVERYBODY, SIGNERS[:-1])],
    "a plan without masking is none of this machine's business": [
        Planned(ME, BUNDLE, 0, train(1, None)), MADE,
    ],
    "a new round ends the one before": [*DEALING, planned(2), dealt(), KeysMade(keys(2), 1), roster()],
    "an abandoned round is forgotten": [*MASKED, abandoned(), unmask(), planned(2)],
    "news of a later round ends this one": [*MASKED, state("training", 2), unmask()],
    "news of this round do not": [*MASKED, state("aggregating", 1), abandoned(0), unmask(), revealed()],
    "a finished task is forgotten": [*MASKED, state("finished", 1), unmask()],
    "a taken update is still to be unmasked": [
        *MASKED, says(Accepted(round=1, examples=0)), unmask(), revealed(),
    ],
    "stop while keys are made": [planned(), STOP, MADE, roster()],
    "stop while masked": [*MASKED, STOP, unmask(), STOP],
    "refused: a roster below the volunteer's minimum": [planned(minimum=6), MADE, roster(), checked()],
    "refused: a roster below the task's minimum": [*ASKED, roster(1, MEMBERS[1:3])],
    "refused: a roster without this client": [*ASKED, roster(1, MEMBERS[:2] + MEMBERS[3:])],
    "refused: an empty roster": [*ASKED, roster(1, [])],
    "refused: a roster with another mask key for this client": [*ASKED, changed(2, mask_key=word(9, 1))],
    "refused: a roster with another share key for this client": [*ASKED, changed(2, share_key=word(9, 1))],
    "refused: a roster with another seed for this client": [*ASKED, changed(2, seed_hash=word(9, 1))],
    "refused: a roster with another identity for this client": [*ASKED, changed(2, identity=word(9, 1))],
    "refused: a roster with another name for this client": [*ASKED, changed(2, client="9f")],
    "refused: a client in the roster twice": [*ASKED, changed(0, client="2b")],
    "refused: two clients with one mask key": [*ASKED, changed(0, mask_key=word(1, 1))],
    "refused: a share key that is another's mask key": [*ASKED, changed(0, share_key=word(1, 1))],
    "refused: two clients with one seed": [*ASKED, changed(0, seed_hash=word(1, 3))],
    "refused: two clients with one identity": [*ASKED, changed(0, identity=word(1, 4))],
    "refused: wrong keys or signatures": [*ASKED, roster(), checked(wrong=(1,)), sealed(), Welcomed()],
    "refused: a changed identity": [*ASKED, roster(), checked(other=(4,)), sealed()],
    "refused: two rosters": [*MASKED, roster(1, MEMBERS[:4]), unmask(), roster(), Welcomed()],
    "refused: the same keys in another order": [*DEALING, roster(1, MEMBERS[::-1]), dealt()],
    "refused: shares of too few": [*DEALING, dealt([0, 1]), opened()],
    "refused: shares of a stranger": [*DEALING, dealt([0, 1, 3, 5])],
    "refused: shares of oneself": [*DEALING, dealt([0, 1, 2, 3])],
    "refused: shares in disorder": [*DEALING, dealt([1, 0, 3])],
    "refused: the shares of one sender twice": [*DEALING, dealt([0, 1, 1, 3])],
    "refused: fewer shares than senders": [*DEALING, dealt(SENDERS, 2)],
    "refused: shares dealt twice": [*MASKED, dealt(OTHERS), unmask()],
    "refused: too few survivors for the task": [*MASKED, unmask([0, 2])],
    "refused: too few survivors for the volunteer": [
        planned(minimum=5), *MASKED[1:], unmask(), revealed(), Welcomed(),
    ],
    "refused: too few neighbours survived": [*MASKED, unmask([0, 1, 2])],
    "refused: survivors without this client": [*DEALING, dealt(OTHERS), opened(), unmask([0, 1, 3, 4])],
    "refused: a survivor whose shares never came": [*MASKED, unmask([0, 1, 2, 3, 4])],
    "refused: survivors in disorder": [*MASKED, unmask([1, 0, 2, 3])],
    "refused: a survivor named twice": [*MASKED, unmask([0, 0, 1, 2, 3])],
    "refused: a survivor outside the roster": [*MASKED, unmask([0, 1, 2, 3, 5])],
    "refused: both shares of a client, one after the other": [
        *DEALING, dealt(OTHERS), opened(), unmask([0, 1, 2, 3]), revealed(5), unmask([0, 1, 2, 3, 4]),
        unmask([0, 1, 2, 3]), Welcomed(),
    ],
    "refused: both shares of a client, before the first was given": [
        *DEALING, dealt(OTHERS), opened(), unmask([0, 1, 2, 3]), unmask([0, 1, 2, 3, 4]), revealed(5),
    ],
    "refused: other survivors than were vouched for": [
        *LIED[:5], dealt(OTHERS), opened(), survivors(), SIGNED, unmask([0, 1, 2, 4], VOUCHERS), WEIGHED,
    ],
    "refused: two lists to vouch for": [
        *LIED[:5], dealt(OTHERS), opened(), survivors(), survivors([0, 1, 2, 4]), SIGNED,
    ],
    "refused: to vouch for too few": [*LIED, survivors([0, 1, 2])],
    "refused: too few vouchers": [*VOUCHED, unmask(vouchers=[0, 1, 2])],
    "refused: no vouchers": [*VOUCHED, unmask()],
    "refused: a voucher that did not survive": [*VOUCHED, unmask(vouchers=[0, 1, 3, 4])],
    "refused: one voucher for many": [*VOUCHED, unmask(vouchers=[0, 0, 0, 0])],
    "refused: vouchers without signatures": [*VOUCHED, unmask(vouchers=VOUCHERS, signatures=3)],
    "refused: a forged voucher": [
        *VOUCHED, unmask(vouchers=VOUCHERS), ConsistencySignaturesChecked(1, [3]), revealed(),
    ],
    "refused: other terms for a round begun": [*DEALING, planned(seed=8), dealt(), planned()],
    "another minimum holds from the next round on": [*ASKED, planned(minimum=6), roster()],
    "refused: a round from before": [*REVEALED, planned(3), planned(2), planned(1), KeysMade(keys(3), 1)],
    "refused: another round of a version for which it revealed": [
        *REVEALED, abandoned(), planned(2, version=0), KeysMade(keys(2), 1), Welcomed(), roster(2),
        planned(3), KeysMade(keys(3), 1),
    ],
    "refused: a round of a version before the newest that it revealed for": [
        planned(), KeysMade(keys(), 7), roster(), Welcomed(),
    ],
    "refused: the reveal cannot be stored": [
        *MASKED, unmask(), HostFailed(1, "The disk is full."), revealed(), Welcomed(),
    ],
    "refused: a round that is over": [*REVEALED, version(1), planned(1, seed=9)],
    "the host cannot make keys": [
        planned(), HostFailed(1, "X25519 is missing here."), MADE, planned(), planned(2),
    ],
    "the host cannot seal": [*ROSTER, HostFailed(1, "No memory."), sealed()],
    "the host has no update to mask": [
        *MASKED, HostFailed(1, "The update holds NaN."), unmask(), Welcomed(), abandoned(), Welcomed(),
    ],
    "a late failure changes nothing": [*DEALING, HostFailed(1, "Too late."), HostFailed(2, "Elsewhere.")],
    "events out of place change nothing": [
        MADE, Welcomed(), STOP, roster(), checked(), sealed(), dealt(), opened(), survivors(), SIGNED,
        unmask(), WEIGHED, revealed(), version(1),
        planned(), roster(), dealt(), unmask(), checked(), KeysMade(keys(2), 1),
        MADE, MADE, dealt(), unmask(), survivors(), roster(2),
        roster(), sealed(), dealt(), unmask(), checked(number=2),
        checked(), dealt(), unmask(), opened(), checked(), sealed(2),
        sealed(), sealed(), unmask(), opened(), SIGNED, WEIGHED, revealed(), dealt(number=2),
        dealt(), unmask(), sealed(),
        opened(), opened(), SIGNED, WEIGHED, revealed(),
        unmask(), WEIGHED, survivors(),
        revealed(), revealed(),
    ],
}  # fmt: skip

SIZES: list[tuple[int, Server]] = [
    *((count, "honest") for count in (3, 5, 10, 50, 64, 65, 80, 81, 100, 129, 200, 300, 1000, 2048)),
    *((count, "active") for count in (3, 64, 65, 256)),
]  # fmt: skip


def conversations() -> list[Conversation]:
    """Every story, replayed on a new machine, and told from where its beginning ends."""
    return [_conversation(name, events) for name, events in STORIES.items()]


def _conversation(name: str, events: list[Event]) -> Conversation:
    begun = [
        (len(told), one)
        for one, told in BEGINNINGS.items()
        if len(told) < len(events) and events[: len(told)] == told
    ]
    skipped, after = max(begun, default=(0, None))
    return Conversation(name, after, _replay(events)[skipped:])


def graphs() -> list[Graph]:
    """Some sizes of rosters."""
    found = []
    for members, server in SIZES:
        size = degree(members, server)
        step = next(step for step in (7, 11) if members % step)
        ring = [place * step % members for place in range(members)]
        shown = ring if members <= 100 else []
        found.append(
            Graph(
                members,
                server,
                size,
                signers(members, server),
                shown,
                neighbours(ring, size.neighbours)[0] if shown else [],
            )
        )
    return found


def _replay(events: list[Event]) -> list[Step]:
    machine = MaskedMember()
    steps = []
    for event in events:
        effects = machine.handle(event)
        steps.append(Step(event, effects, machine.stage, machine.latest, machine.members, machine.reason))
    return steps


def text() -> str:
    """The file's content: one step a line, so that differences are readable."""
    stories = []
    for story in conversations():
        steps = ",\n    ".join(msgspec.json.encode(step).decode() for step in story.steps)
        name = msgspec.json.encode(story.name).decode()
        after = msgspec.json.encode(story.after).decode()
        stories.append(f'  {{ "name": {name}, "after": {after}, "steps": [\n    {steps}\n  ] }}')
    sizes = ",\n  ".join(msgspec.json.encode(graph).decode() for graph in graphs())
    return '{ "conversations": [\n' + ",\n".join(stories) + '\n], "graphs": [\n  ' + sizes + "\n] }\n"


def files() -> dict[str, str]:
    """The content of each file."""
    return {FILE.name: text()}


if __name__ == "__main__":
    write(files())
