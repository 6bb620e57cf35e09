"""Events and effects of the machine of a masked round's member.

Secrets stay with the host: it draws, seals, opens, masks and signs, and stores a round's secrets (its keys,
the roster's context, opened shares) until `forget`. The machine decides what may be sent. Lists of places
ascend; a member's data for several neighbours are in the order of their places.
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

    The volunteer takes part only among `minimum` clients or more.
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
    """The result of `make_keys`."""

    keys: Keys


class RosterChecked(Struct, frozen=True, tag="roster_checked"):
    """The outcome of `check_roster`: `order` has the places in the order of the ring.

    `wrong` are places with keys that cannot be used or, with `verify`, with a wrong signature;
    `changed` places whose identity is not the one known or listed for that client.
    """

    round: Count
    order: Members
    wrong: Members
    changed: Members


class SharesSealed(Struct, frozen=True, tag="shares_sealed"):
    """The result of `seal`."""

    round: Count
    sealed: list[Sealed]


class SharesOpened(Struct, frozen=True, tag="shares_opened"):
    """The host stored the shares of `open`, except those of `unopened`, not sealed for this member."""

    round: Count
    unopened: Members


class SurvivorsSigned(Struct, frozen=True, tag="survivors_signed"):
    """The result of `sign_survivors`."""

    round: Count
    signature: Signature


class ConsistencySignaturesChecked(Struct, frozen=True, tag="vouchers_checked"):
    """The outcome of `check_vouchers`: the places in `wrong` did not sign that list."""

    round: Count
    wrong: Members


class RevealMade(Struct, frozen=True, tag="revealed"):
    """The result of `make_reveal`."""

    round: Count
    shares: list[Key]


class HostFailed(Struct, frozen=True, tag="failed"):
    """The host failed at the last effect for `round`; `reason` is for people and holds no secret."""

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
    """Send one frame if the connection is open; the machine repeats it after `welcomed`."""

    frame: ClientFrame


class MakeKeys(Struct, frozen=True, tag="make_keys"):
    """Draw a seed and two X25519 keys, all new, for the round of `plan`, and sign them; then `keys_made`."""

    client: str
    bundle: Hash
    plan: Train


class CheckRoster(Struct, frozen=True, tag="check_roster"):
    """Compute the round's context and ring, and check every key; then report `roster_checked`.

    `verify` also checks signatures and compares identities with known ones; without it `wrong` are places
    whose keys cannot be used, and `changed` is empty.
    """

    round: Count
    members: list[Member]
    degree: Count
    threshold: Count
    verify: bool


class SealShares(Struct, frozen=True, tag="seal"):
    """Cut both secrets into shares for the `neighbours` and oneself at `place`; `threshold` recover them.

    Seal the neighbours' shares for them, and store one's own. Then report `shares_sealed`.
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
    """Mask the round's update once, with one's own mask and the masks shared with `pairs`.

    It may come before training ends. Offer the masked bytes, and repeat exactly these bytes if necessary.
    Report `failed` if there is no update.
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

    The shares are in the order of all these places; 32 bytes 0xff if a place's shares could not be opened.
    Forget the other share of each place. Then report `revealed`.
    """

    round: Count
    seeds: Members
    mask_keys: Members


class LeaveRound(Struct, frozen=True, tag="give_up"):
    """Take no further part in `round`: offer no update of it. `reason` is for people.

    `forget` follows if there are secrets, and a `send` that informs the server.
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
