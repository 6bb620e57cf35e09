"""Checks that a server keeps to the privacy terms of its Welcome; the twin is `client/privacy-promise.ts`.

Clients clip and add noise as a plan says, so that a server could leave the noise out of a plan: the terms
that a client was told when it joined are the least that it does.
"""

from __future__ import annotations

from backend.wire.messages import PrivacyTerms, Train


def noise_of_clients(terms: PrivacyTerms | None) -> float:
    """Returns the noise that clients add themselves, as a multiple of the clip; 0 if the server adds it."""
    return 0.0 if terms is None or terms.mechanism == "central" else terms.noise


def is_weaker(terms: PrivacyTerms | None, promised: PrivacyTerms | None) -> bool:
    """Whether `terms` have less noise than those `promised`, or other ones of what noise is measured by."""
    if promised is None:
        return False
    return (
        terms is None
        or terms.mechanism != promised.mechanism
        or terms.clip != promised.clip
        or terms.microbatch != promised.microbatch
        or not terms.noise >= promised.noise
        or not terms.delta <= promised.delta
    )


def keeps_promise(plan: Train, terms: PrivacyTerms | None) -> bool:
    """Whether a client that trains by `plan` clips and adds noise as `terms` say, or adds more noise."""
    if terms is None:
        return True
    privacy, masking = plan.privacy, plan.masking
    match terms.mechanism:
        case "local":
            return privacy is not None and privacy.clip == terms.clip and privacy.noise >= terms.noise
        case "examples":
            return (
                privacy is not None
                and privacy.microbatch == terms.microbatch
                and privacy.example_clip == terms.clip
                and privacy.example_noise >= terms.noise
            )
        case "distributed":
            return masking is not None and masking.clip == terms.clip and masking.noise >= terms.noise
        case "central":
            return True
