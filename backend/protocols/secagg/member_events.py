"""Defines events and effects of a masked round's member. The twin is `secagg/member-events.ts`.

Secrets stay with the host: it draws, seals, opens, masks and signs, and keeps the round's keys, the roster's
context and the opened shares until `forget`. The machine decides what may be sent at all. Lists of places are
in ascending order; what a member sends to or receives from several neighbours is in the order of their
places.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from backend.wire.fields import Count
from backend.wire.masked_messages import Key, Keys, Member, Members, Sealed, Signature
from backend.wire.messages import ClientFrame, Hash, ServerFrame, Train

# Events.


class Planned(Struct, frozen=True, tag="planned"):
    """The server sent a plan with masking; it may repeat it.

    `client` and `bundle` are those of Welcome. The volunteer takes part only among at least `minimum`
    clients.
    """

    client: str
    bundle: Hash
    minimum: Count
    plan: Train


class MaskedFrame(Struct, frozen=True, tag="frame"):
    """The server sent a frame of any kind. The machine ignores frames that are not its own."""

    frame: ServerFrame


class Welcomed(Struct, frozen=True, tag="welcomed"):
    """The connection is open, perhaps after a reconnection, and the participant is ready."""


class KeysMade(Struct, frozen=True, tag="keys_made"):
    """The host made the keys that `make_keys` asked for.

    Versions below `spent` are those for which this client may have revealed shares in this run of the task.
    """

    keys: Keys
    spent: Count


class RosterChecked(Struct, frozen=True, tag="roster_checked"):
    """The result of `check_roster`: `order` lists the places in the order of the ring.

    `wrong` lists those with unusable keys or, if `verify` was set, with a wrong signature. `changed` lists
    those whose identity differs from the one known or listed for that client.
    """

    round: Count
    order: Members
    wrong: Members
    changed: Members


class SharesSealed(Struct, frozen=True, tag="shares_sealed"):
    """The host sealed the shares that `seal` asked for."""

    round: Count
    sealed: list[Sealed]


class SharesOpened(Struct, frozen=True, tag="shares_opened"):
    """The host keeps the shares that `open` asked for, except from senders in `unopened`.

    Those sealed no shares that this member can open.
    """

    round: Count
    unopened: Members


class SurvivorsSigned(Struct, frozen=True, tag="survivors_signed"):
    """The host signed what `sign_survivors` asked for."""

    round: Count
    signature: Signature


class ConsistencySignaturesChecked(Struct, frozen=True, tag="vouchers_checked"):
    """The result of `check_vouchers`: the places in `wrong` did not sign that list of survivors."""

    round: Count
    wrong: Members


class RevealMade(Struct, frozen=True, tag="revealed"):
    """The host took the shares that `make_reveal` asked for."""

    round: Count
    shares: list[Key]


class HostFailed(Struct, frozen=True, tag="failed"):
    """The host cannot perform the last effect of `round`. `reason` is for people and reveals no secret."""

    round: Count
    reason: Annotated[str, Meta(max_length=500)]


class Stopped(Struct, frozen=True, tag="stopped"):
    """The volunteer stopped, or another window replaced this one."""


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
    """Send one frame if the connection is open; the machine repeats the effect after `welcomed`."""

    frame: ClientFrame


class MakeKeys(Struct, frozen=True, tag="make_keys"):
    """Draw a new seed and two new X25519 keys for the round of `plan`, and sign them.

    Read the versions that are spent from durable storage. Then report `keys_made`.
    """

    client: str
    bundle: Hash
    plan: Train


class CheckRoster(Struct, frozen=True, tag="check_roster"):
    """Compute the round's context and ring, and check every key; then report `roster_checked`.

    With `verify`, also check the signatures and compare the identities with those known; without it `wrong`
    lists only unusable keys, and `changed` is empty.
    """

    round: Count
    members: list[Member]
    degree: Count
    threshold: Count
    verify: bool


class SealShares(Struct, frozen=True, tag="seal"):
    """Split both secrets into shares for the `neighbours` and for this member at `place`.

    `threshold` shares recover a secret. The neighbours' shares are sealed for them, the own ones are kept.
    Then report `shares_sealed`.
    """

    round: Count
    place: Count
    threshold: Count
    neighbours: Members


class OpenShares(Struct, frozen=True, tag="open"):
    """Open the shares that `senders` sealed for `place`, and store them; then report `shares_opened`."""

    round: Count
    place: Count
    senders: Members
    sealed: list[Sealed]


class MaskUpdate(Struct, frozen=True, tag="mask"):
    """Allow the round's update to be masked once, with the own mask and the pairwise masks of `pairs`.

    The effect may come before or while training ends. The masked bytes are offered; a repeated offer has the
    same bytes. Report `failed` if no update can be masked.
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

    First store durably that `version` and all before it are spent; if that fails report `failed`, and take
    none. The shares are in the order of all these places. A share that could not be opened is 32 bytes of
    0xff. The other share of each place is deleted. Then report `revealed`.
    """

    round: Count
    version: Count
    seeds: Members
    mask_keys: Members


class LeaveRound(Struct, frozen=True, tag="give_up"):
    """Take no further part in `round`, and offer no update of it. `reason` is for people.

    A `forget` follows if the round has secrets, and a `send` that notifies the server.
    """

    round: Count
    reason: str


class ForgetRound(Struct, frozen=True, tag="forget"):
    """Overwrite the secrets of `round`."""

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
