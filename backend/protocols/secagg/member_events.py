"""Events and effects of the machine of a masked round's member: what its host reports, and what it asks for.

Secrets stay with the host: it draws, seals, opens, masks and signs, and keeps what belongs to a round (its
keys, the roster's context, opened shares) until `forget`. The machine decides what may be sent at all.
Lists of places ascend; what a member sends or gets for several neighbours is in the order of their places.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from backend.wire.fields import Count
from backend.wire.masked_messages import Key, Keys, Member, Members, Sealed, Signature
from backend.wire.messages import ClientFrame, Hash, ServerFrame, Train

# Events.


class Planned(Struct, frozen=True, tag="planned"):
    """The server sent a plan with masking, perhaps once more. `client` and `bundle` are those of Welcome.

    The volunteer takes part among no fewer than `minimum` clients.
    """

    client: str
    bundle: Hash
    minimum: Count
    plan: Train


class MaskedFrame(Struct, frozen=True, tag="frame"):
    """The server sent a frame, of any kind: the machine ignores those that are not its own."""

    frame: ServerFrame


class Welcomed(Struct, frozen=True, tag="welcomed"):
    """The connection is open (again), and the participant said that it is ready."""


class KeysMade(Struct, frozen=True, tag="keys_made"):
    """What `make_keys` asked for."""

    keys: Keys


class RosterChecked(Struct, frozen=True, tag="roster_checked"):
    """The outcome of `check_roster`: `order` has the places in the order of the ring.

    `wrong` are places with keys that cannot be used or, where asked to `verify`, with a wrong signature;
    `changed` those whose identity is not the one known or listed for that client.
    """

    round: Count
    order: Members
    wrong: Members
    changed: Members


class SharesSealed(Struct, frozen=True, tag="shares_sealed"):
    """What `seal` asked for."""

    round: Count
    sealed: list[Sealed]


class SharesOpened(Struct, frozen=True, tag="shares_opened"):
    """The shares are kept that `open` asked for, except those of `unopened`: not sealed for this member."""

    round: Count
    unopened: Members


class SurvivorsSigned(Struct, frozen=True, tag="survivors_signed"):
    """What `sign_survivors` asked for."""

    round: Count
    signature: Signature


class ConsistencySignaturesChecked(Struct, frozen=True, tag="vouchers_checked"):
    """The outcome of `check_vouchers`: the places in `wrong` did not sign that list."""

    round: Count
    wrong: Members


class RevealMade(Struct, frozen=True, tag="revealed"):
    """What `make_reveal` asked for."""

    round: Count
    shares: list[Key]


class HostFailed(Struct, frozen=True, tag="failed"):
    """The host cannot do what was asked last for `round`; `reason` is for people and tells no secret."""

    round: Count
    reason: Annotated[str, Meta(max_length=500)]


class Stopped(Struct, frozen=True, tag="stopped"):
    """The volunteer stopped, or another window took its place."""


Event = (
    Planned
    | MaskedFrame
    | Welcomed
    | KeysMade
    | RosterChecked
    | SharesSealed
    | SharesOpened
    | SurvivorsSigned
    | ConsistencySignaturesChecked
    | RevealMade
    | HostFailed
    | Stopped
)

# Effects, performed in order.


class SendMasked(Struct, frozen=True, tag="send"):
    """Send one frame, if the connection is open; after `welcomed` it is asked for again."""

    frame: ClientFrame


class MakeKeys(Struct, frozen=True, tag="make_keys"):
    """Draw a seed and two X25519 keys, all new, for the round of `plan`, and sign them; then `keys_made`."""

    client: str
    bundle: Hash
    plan: Train


class CheckRoster(Struct, frozen=True, tag="check_roster"):
    """Compute the round's context and ring, and look at every key; then report `roster_checked`.

    To `verify` is to check signatures and to compare identities with those known; else `wrong` are those
    whose keys cannot be used, and `changed` is empty.
    """

    round: Count
    members: list[Member]
    degree: Count
    threshold: Count
    verify: bool


class SealShares(Struct, frozen=True, tag="seal"):
    """Cut both secrets into shares for the `neighbours` and oneself at `place`; `threshold` recover them.

    Those of the neighbours are sealed for them; one's own are kept. Then report `shares_sealed`.
    """

    round: Count
    place: Count
    threshold: Count
    neighbours: Members


class OpenShares(Struct, frozen=True, tag="open"):
    """Open what `senders` sealed for `place`, and keep the shares; then report `shares_opened`."""

    round: Count
    place: Count
    senders: Members
    sealed: list[Sealed]


class MaskUpdate(Struct, frozen=True, tag="mask"):
    """The round's update may be masked now, and that once: with one's own mask and those with `pairs`.

    Given before or while training ends. The masked bytes are offered, and the very same again if need be.
    Report `failed` if there can be none.
    """

    round: Count
    place: Count
    pairs: Members


class SignSurvivors(Struct, frozen=True, tag="sign_survivors"):
    """Sign that the server named these survivors; then report `survivors_signed`."""

    round: Count
    alive: Members


class CheckConsistencySignatures(Struct, frozen=True, tag="check_vouchers"):
    """Check the vouchers' signatures over this list of survivors; then report `vouchers_checked`."""

    round: Count
    alive: Members
    vouchers: Members
    signatures: list[Signature]


class MakeReveal(Struct, frozen=True, tag="make_reveal"):
    """Take one share for each place in `seeds` (of its seed) and `mask_keys` (of its private mask key).

    The shares are in the order of all these places; for one whose shares could not be opened 32 bytes 0xff.
    The other share of each is forgotten. Then report `revealed`.
    """

    round: Count
    seeds: Members
    mask_keys: Members


class LeaveRound(Struct, frozen=True, tag="give_up"):
    """Take no further part in `round`: offer no update of it. `reason` is for people.

    `forget` follows, where there is something to, and a `send` that tells the server.
    """

    round: Count
    reason: str


class ForgetRound(Struct, frozen=True, tag="forget"):
    """Overwrite what was kept for `round`."""

    round: Count


Effect = (
    SendMasked
    | MakeKeys
    | CheckRoster
    | SealShares
    | OpenShares
    | MaskUpdate
    | SignSurvivors
    | CheckConsistencySignatures
    | MakeReveal
    | LeaveRound
    | ForgetRound
)
