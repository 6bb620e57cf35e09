"""Derives the terms of `welcome` from a task file: what the task promises its clients in every round."""

from __future__ import annotations

from backend.formats.task_file import TaskFile
from backend.protocols.client.privacy_promise import noise_of_clients
from backend.server.privacy.privacy_budget import visits_of
from backend.wire.messages import AggregationTerms, PrivacyTerms


def aggregation_terms(file: TaskFile) -> AggregationTerms:
    """Returns what holds for clients whose updates are masked."""
    privacy, masked = file.privacy, file.security.masked
    clip = privacy.clip if privacy else file.security.clip
    return AggregationTerms(clip=clip, min_clients=masked.min_clients, server=masked.server)


def privacy_terms(file: TaskFile) -> PrivacyTerms | None:
    """Returns the terms of [privacy]; None without the table."""
    chosen = file.privacy
    if chosen is None:
        return None
    return PrivacyTerms(
        mechanism=chosen.mechanism,
        clip=chosen.clip,
        noise=chosen.noise_multiplier,
        delta=chosen.delta,
        microbatch=chosen.microbatch if chosen.of_examples else 0,
        visits=visits_of(file) if chosen.of_examples else 0,
    )


def own_noise(file: TaskFile) -> float:
    """Returns the noise that each client adds itself at least, as a multiple of the clip."""
    return noise_of_clients(privacy_terms(file), aggregation_terms(file) if file.security.masks else None)
