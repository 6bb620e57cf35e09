"""Checks that a task's settings are compatible with scheme = "volunteer", which has no rounds."""

from __future__ import annotations

from collections.abc import Iterator

from backend.formats.task_file.coordination import Coordination
from backend.formats.task_file.rules.recipes import accumulation_conflict, optimizer_conflict, stated_plain
from backend.formats.task_file.task_file import TaskFile

SCHEME = 'scheme = "volunteer"'
# Keys of [coordination] that concern rounds, and what applies to work units instead.
OF_ROUNDS = {
    "fraction_train": "everybody who is there gets units",
    "min_train_clients": "everybody who is there gets units",
    "min_available_clients": "nobody waits for others",
    "over_selection": "units.trust.replicas says how often a unit is done",
    "quorum": "units.trust.replicas says how often a unit is done",
    "deadline": "say units.lease",
    "min_deadline": "say units.lease",
    "adaptive_deadline": "leases always adapt to their clients",
    "gather": "nobody waits for others",
    "grace": "say units.lease",
    "fraction_evaluate": "the server measures on its held-out shards",
    "min_evaluate_clients": "the server measures on its held-out shards",
    "evaluate_every": "say units.evaluate_every",
    "server_optimizer": "say units.assimilation",
}


def volunteer_conflicts(file: TaskFile) -> Iterator[str]:
    """Yields a sentence for each setting that conflicts with the scheme, with an alternative."""
    fields = Coordination.__struct_fields__
    defaults = dict(zip(reversed(fields), reversed(Coordination.__struct_defaults__), strict=False))
    for key, instead in OF_ROUNDS.items():
        if getattr(file.coordination, key) != defaults[key]:
            yield f"coordination.{key} cannot be combined with {SCHEME}: {instead}. Leave it out."
    plain = stated_plain(file)
    if plain is not None and (conflict := optimizer_conflict(file, plain)):
        yield conflict
    if (optimizer := file.model.optimizer) is not None and (
        conflict := accumulation_conflict(file, optimizer.gradient_accumulation_steps or 0)
    ):
        yield conflict
    if file.data.source != "shards":
        yield (
            f'data.source = "{file.data.source}" cannot be combined with {SCHEME}: its units are rows of '
            'shards that the server hands out. Take source = "shards", or scheme = "federated".'
        )
    if file.data.shards_per_client != 1:
        yield (
            f"data.shards_per_client cannot be combined with {SCHEME}: a unit is part of one shard. Leave it "
            "out."
        )
    if file.training.control_variates:
        yield (
            f"training.control_variates cannot be combined with {SCHEME}: SCAFFOLD's variates are those of "
            "rounds. Take training.proximal_mu instead."
        )
    if file.security.masks:
        yield (
            f'security.aggregation = ["masked"] cannot be combined with {SCHEME}: each result is blended '
            'alone and compared with others, so the server sees it. Take ["open"], or scheme = "federated".'
        )
    if file.privacy is not None:
        yield (
            f"[privacy] cannot be combined with {SCHEME}: its noise is counted for sums of rounds. Leave "
            'the table out, or take scheme = "federated".'
        )
