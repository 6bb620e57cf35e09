"""Why a masked round went on without a client or failed, as sentences for clients and owners."""

from __future__ import annotations

from collections.abc import Sized

from backend.wire.masked_messages import Decline


def declined_sentence(frame: Decline, version: int) -> str:
    """Returns the answer to a client that declined the round that makes `version`'s successor."""
    if frame.spent:
        return f"Your update of version {version} was to be summed before. Wait for the next version."
    return f"You left masked round {frame.round}. Wait for the next one."


def too_few_keys(sent: int, least: int) -> str:
    """Returns why `sent` clients that sent keys are too few; `least` are needed."""
    if sent >= least:
        return f"{sent} clients sent keys, fewer than they require."
    return f"{sent} of at least {least} clients sent keys."


def too_few_shares(shared: int, least: int, members: int) -> str:
    """Returns why `shared` of so many `members` that exchanged shares are too few; `least` are needed."""
    if shared < least:
        return f"{shared} of at least {least} clients exchanged shares."
    return f"{shared} of {members} clients exchanged shares, too few to mask."


def not_unmasked(false_sharers: Sized, revealed: int, alive: int) -> str:
    """Returns why shares that `revealed` of the `alive` survivors revealed do not unmask the sum."""
    if len(false_sharers):
        return f"Shares did not recover the secrets; {len(false_sharers)} clients are excluded for that."
    return f"{revealed} of {alive} clients revealed their shares, too few to unmask the sum."


def too_few_groups(left: int, groups: int, least: int, lost: str) -> str:
    """Returns why `left` of `groups` groups are too few; `least` are needed, and `lost` is the last loss."""
    return f"{left} of {groups} masked groups are left, and the rule needs at least {least}. {lost}"
