"""Checks that a server keeps to what its Welcome promised; the twin is `client/privacy-promise.ts`.

Clients mask, clip and add noise as a plan says, so that a server could leave the noise out of a plan: what a
client was told when it joined is the least that it does, for the life of its process or page.
"""

from __future__ import annotations

from backend.wire.messages import PrivacyTerms, Train, Welcome

# The client leaves a server that breaks the agreement: it could learn what is to be hidden.
BROKEN_WORD = "The server asks for updates in another way than was agreed on, so this client left it."
BROKEN_PROMISE = (
    "The server asks for an update with less noise, or another clip, than it promised when this client "
    "joined, so this client left it. If the new terms suit you, reload the page or start the client again."
)
TOO_LITTLE_NOISE = (
    "In this task devices add less noise to what they send than you ask for, or none, so this client left "
    "it. Ask for less, or choose another task."
)
EMPTY_TERMS = (
    "The server promises privacy in terms that protect nothing, such as a clip of 0, so this client left it. "
    "Choose another task."
)

# Updates and noise are float32, which rounds smaller amounts to 0 and has no room for larger ones.
SMALLEST_CLIP, LARGEST_CLIP = 1e-20, 1e20


def welcome_objection(welcome: Welcome, promised: Welcome | None, min_noise: float) -> str | None:
    """Returns why a client leaves a server that says `welcome`, None if it stays.

    `promised` is what the server said before; the client adds noise of `min_noise` times the clip or more.
    """
    terms = welcome.privacy
    if terms is not None and not _is_meaningful(terms):
        return EMPTY_TERMS
    if promised is not None and promised.aggregation == "masked" != welcome.aggregation:
        return BROKEN_WORD
    if promised is not None and _is_weaker(terms, promised.privacy):
        return BROKEN_PROMISE
    if not noise_of_clients(welcome) >= min_noise:
        return TOO_LITTLE_NOISE
    return None


def plan_objection(plan: Train, promised: Welcome) -> str | None:
    """Returns why a client leaves a server for this `plan`, None if it trains by it."""
    if (plan.masking is not None) is not (promised.aggregation == "masked"):
        return BROKEN_WORD
    return None if _keeps_noise(plan, promised.privacy) else BROKEN_PROMISE


def hides_examples(promised: Welcome | None) -> bool:
    """Whether nothing exact about a client's own examples may leave it: masks or noise are promised."""
    return promised is not None and (promised.aggregation == "masked" or promised.privacy is not None)


def noise_of_clients(welcome: Welcome) -> float:
    """Returns the noise that clients add themselves, as a multiple of the clip; 0 if the server adds it."""
    terms = welcome.privacy
    if terms is None or terms.mechanism == "central" or not _is_meaningful(terms):
        return 0.0
    return terms.noise


def _is_meaningful(terms: PrivacyTerms) -> bool:
    """Whether noise by these terms is really added: it is scaled by the clip, and goes to microbatches."""
    return (
        SMALLEST_CLIP <= terms.clip <= LARGEST_CLIP
        and 0.0 <= terms.noise <= LARGEST_CLIP
        and 0.0 < terms.delta < 1.0
        and (terms.microbatch > 0 or terms.mechanism != "examples")
    )


def _is_weaker(terms: PrivacyTerms | None, promised: PrivacyTerms | None) -> bool:
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


def _keeps_noise(plan: Train, terms: PrivacyTerms | None) -> bool:
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
