"""Checks that a server keeps to what its Welcome promised; the twin is `client/privacy-promise.ts`.

Clients mask, clip and add noise as a plan says, so that a server could leave the noise out of a plan: what a
client was told when it joined is the least that it does, for the life of its process or page.
"""

from __future__ import annotations

import math

from backend.protocols.secagg.terms import most_sharers
from backend.wire.messages import AggregationTerms, Masking, PrivacyTerms, Train, Welcome

# The client leaves a server that breaks the agreement: it could learn what is to be hidden.
BROKEN_WORD = "The server asks for updates in a different form than agreed, so this client left it."
BROKEN_PROMISE = (
    "The server protects updates less than it promised when this client joined, so this client left it. If "
    "the new terms suit you, reload the page or start the client again."
)
OTHER_MODEL = (
    "The task has another model than when this client joined, so this client left it. Reload the page or "
    "start the client again to train the new one."
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
    if not _is_meaningful(welcome):
        return EMPTY_TERMS
    if promised is not None and promised.aggregation == "masked" != welcome.aggregation:
        return BROKEN_WORD
    if promised is not None and _pins_model(promised) and promised.bundle != welcome.bundle:
        return OTHER_MODEL
    if promised is not None and _is_weaker(welcome, promised):
        return BROKEN_PROMISE
    if not noise_of_clients(welcome.privacy, welcome.masking) >= min_noise:
        return TOO_LITTLE_NOISE
    return None


def plan_objection(plan: Train, promised: Welcome, examples: int) -> str | None:
    """Returns why a client with `examples` own examples leaves a server for this `plan`, or None."""
    if (plan.masking is not None) is not (promised.aggregation == "masked"):
        return BROKEN_WORD
    kept = _masks_alike(plan.masking, promised.masking) and _keeps_noise(plan, promised, examples)
    return None if kept else BROKEN_PROMISE


def hides_examples(promised: Welcome | None) -> bool:
    """Whether nothing exact about a client's own examples may leave it: masks or noise are promised."""
    return promised is not None and (promised.aggregation == "masked" or promised.privacy is not None)


def noise_of_clients(terms: PrivacyTerms | None, masking: AggregationTerms | None) -> float:
    """Returns the noise that a client adds itself at least, as a multiple of the clip; 0 if the server does.

    In `distributed` that is its own share: clients that the server invents add none.
    """
    if terms is None or terms.mechanism == "central" or not _adds_noise(terms):
        return 0.0
    return terms.noise if terms.mechanism != "distributed" else _own_share(terms.noise, masking)


def _own_share(noise: float, masking: Masking | AggregationTerms | None) -> float:
    """Returns a client's share of the noise on a masked sum, in a round of as many as there can be."""
    if masking is None:
        return 0.0
    return noise / math.sqrt(most_sharers(masking.min_clients, masking.server))


def _is_meaningful(welcome: Welcome) -> bool:
    """Whether the terms are amounts by which updates are really masked, and noise is really added."""
    privacy, masking = welcome.privacy, welcome.masking
    if (masking is not None) is not (welcome.aggregation == "masked"):
        return False
    return (masking is None or _is_clip(masking.clip)) and (privacy is None or _adds_noise(privacy))


def _adds_noise(terms: PrivacyTerms) -> bool:
    """Whether noise by these terms is really added: scaled by the clip, and to microbatches of few visits."""
    return (
        _is_clip(terms.clip)
        and 0.0 <= terms.noise <= LARGEST_CLIP
        and 0.0 < terms.delta < 1.0
        and (min(terms.microbatch, terms.visits) > 0 or terms.mechanism != "examples")
    )


def _is_clip(clip: float) -> bool:
    return SMALLEST_CLIP <= clip <= LARGEST_CLIP


def _pins_model(promised: Welcome) -> bool:
    """Whether a client hides its update: what masks or noise leave of that depends on the model's graphs."""
    return promised.aggregation == "masked" or noise_of_clients(promised.privacy, promised.masking) > 0.0


def _is_weaker(welcome: Welcome, promised: Welcome) -> bool:
    """Whether `welcome` protects less than what was `promised`."""
    return (
        not _masks_alike(welcome.masking, promised.masking)
        or not _noises_alike(welcome.privacy, promised.privacy)
        or not noise_of_clients(welcome.privacy, welcome.masking)
        >= noise_of_clients(promised.privacy, promised.masking)
    )


def _masks_alike(masking: Masking | AggregationTerms | None, promised: AggregationTerms | None) -> bool:
    """Whether masked rounds protect as promised, or better."""
    if promised is None:
        return True
    return (
        masking is not None
        and masking.clip == promised.clip
        and masking.min_clients >= promised.min_clients
        and (masking.server == "active" or promised.server == "honest")
    )


def _noises_alike(terms: PrivacyTerms | None, promised: PrivacyTerms | None) -> bool:
    """Whether `terms` have as much noise as those `promised`, and the same of what noise is measured by."""
    if promised is None:
        return True
    return (
        terms is not None
        and terms.mechanism == promised.mechanism
        and terms.clip == promised.clip
        and terms.microbatch == promised.microbatch
        and terms.visits <= promised.visits
        and terms.noise >= promised.noise
        and terms.delta <= promised.delta
    )


def _keeps_noise(plan: Train, promised: Welcome, examples: int) -> bool:
    """Whether a client that trains by `plan` clips and adds noise as it was `promised`, or adds more."""
    terms, privacy, masking = promised.privacy, plan.privacy, plan.masking
    if terms is None or terms.mechanism == "central":
        return True
    if terms.mechanism == "distributed":
        return (
            masking is not None
            and masking.clip == terms.clip
            and masking.noise >= terms.noise
            and _own_share(masking.noise, masking) >= noise_of_clients(terms, promised.masking)
        )
    if privacy is None:
        return False
    if terms.mechanism == "local":
        return privacy.clip == terms.clip and privacy.noise >= terms.noise
    return (
        privacy.microbatch == terms.microbatch
        and privacy.example_clip == terms.clip
        and privacy.example_noise >= terms.noise
        and _visits(plan, examples) <= terms.visits
    )


def _visits(plan: Train, examples: int) -> float:
    """Returns how often a plan visits one of a client's own examples; infinity for examples of others."""
    if plan.shards or not plan.batch_size:
        return math.inf
    return math.ceil(plan.steps / math.ceil(max(1, examples) / plan.batch_size)) or plan.epochs
