"""Applies the proposed plan to a draft's task file, apart from the values that its owner set."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from backend.errors import MingaError
from backend.formats.task_file.reading.dotted_keys import set_at, value_at
from backend.formats.task_file.robust import RobustTable
from backend.server.drafts.record import Draft
from backend.server.drafts.review.cost_preview import plan_proposals, products_of
from backend.server.drafts.task_tables import parsed
from backend.server.estimates.protection_choices import raise_clients
from backend.server.estimates.robust.proposed_rule import default_table

ROBUST = "security.robust"
# Keys of the task file that plans of rounds or of work units propose.
PLAN_KEYS = (
    "data.shards_per_client",
    "training.epochs",
    "training.steps",
    "training.learning_rate",
    "training.proximal_mu",
    "coordination.rounds",
    "coordination.min_available_clients",
    "coordination.quorum",
    "coordination.deadline",
    "coordination.units.rows",
    "coordination.units.epochs",
    "coordination.units.lease",
    "coordination.units.trust.replicas",
    "coordination.units.assimilation.alpha",
    ROBUST,
)
# What a task file means without a key: a proposal of it needs no entry.
_USUAL = {
    "data.shards_per_client": 1,
    "training.proximal_mu": 0,
    "coordination.quorum": 1,
    "coordination.units.rows": 0,
}
_SCHEME = "coordination.scheme"
# One counts the visits of a client, the other its steps: an owner who sets one, sets both.
_ALTERNATIVES = {"training.epochs", "training.steps"}


def owned_after(
    owned: Iterable[str] | None, before: Mapping[str, Any], after: Mapping[str, Any]
) -> list[str]:
    """Returns the keys of the plan that the owner has set, once `after` replaces the tables `before`.

    None as `owned` means every key: the plan came with a task file. Another scheme needs another plan, of
    which only what the owner set of the training remains.
    """
    kept, changed = set(PLAN_KEYS if owned is None else owned), _changed(before, after)
    if value_at(before, _SCHEME) != value_at(after, _SCHEME):
        kept = {key for key in owned or () if key.startswith("training.")}
        changed = {key for key in changed if key.startswith("training.")}
    return [key for key in PLAN_KEYS if key in kept | changed]


def owned_by_file(owned: Iterable[str] | None, tables: Mapping[str, Any]) -> list[str]:
    """Returns the keys that an owner set by writing the task file `tables` before anything was proposed."""
    written = {key for key in PLAN_KEYS if key.partition(".")[0] in ("coordination", "training")}
    written = {key for key in written if key.partition(".")[0] in tables}
    if value_at(tables, "data.shards_per_client") is not None:
        written.add("data.shards_per_client")
    kept = set(PLAN_KEYS if owned is None else owned)
    return [key for key in PLAN_KEYS if key in kept | written]


def owned_with_rule(owned: Iterable[str]) -> list[str]:
    """Returns the owned keys and that of the robust rule: a task file that a person wrote keeps its own."""
    return [key for key in PLAN_KEYS if key in {*owned, ROBUST}]


def with_proposals(
    tables: Mapping[str, Any], values: Mapping[str, Any], owned: Iterable[str]
) -> tuple[dict[str, Any], list[str]]:
    """Returns `tables` with the proposed `values` of all keys that are not `owned`, and what stays owned.

    A value that an owner set to the proposed one is the proposed one again.
    """
    proposed = dict(values)
    kept = {key for key in owned if key not in proposed or not _same(value_at(tables, key), proposed[key])}
    if kept & _ALTERNATIVES:
        proposed = {key: value for key, value in proposed.items() if key not in _ALTERNATIVES}
    result = copy.deepcopy(dict(tables))
    for key, value in proposed.items():
        current = value_at(result, key)
        if key not in kept and not _same(_USUAL.get(key) if current is None else current, value):
            set_at(result, key, value)
    return result, [key for key in PLAN_KEYS if key in kept]


async def apply_plan(draft: Draft, folder: Path) -> bool:
    """Writes the plan's proposals into the draft once model and data are known; whether anything changed.

    A plan that came whole with a task file (`owned` is None) stays as it is.
    """
    while draft.owned is not None:
        tables, owned = draft.task, draft.owned
        proposals = await asyncio.to_thread(_proposed_values, draft, folder, tables, owned)
        # The draft may have changed while the proposals were computed.
        if draft.task is tables and draft.owned is owned:
            draft.task, draft.owned = with_proposals(tables, proposals, owned)
            return draft.task != tables or draft.owned != owned
    return False


def _proposed_values(
    draft: Draft, folder: Path, tables: Mapping[str, Any], owned: Iterable[str]
) -> dict[str, Any]:
    """Returns the proposed values by key; none before model and data are known.

    Values of rounds follow the robust rule in `tables` if it is owned, else the default one.
    """
    base = copy.deepcopy(dict(tables))
    set_at(base, ROBUST, None)
    values = _values(draft, folder, base)
    if not values:
        return {}
    rule = _default_rule(draft, folder, with_proposals(base, values, owned)[0])
    if rule is not None:
        set_at(base, ROBUST, rule)
        enough = copy.deepcopy(base)
        raise_clients(enough.setdefault("coordination", {}), msgspec.convert(rule, RobustTable).least)
        with_rule = _values(draft, folder, enough)
        if _is_valid(with_proposals(base, with_rule, owned)[0]):
            values = with_rule
        else:
            rule = None
    if ROBUST in owned:
        values = _values(draft, folder, tables)
    return values | {ROBUST: rule}


def _default_rule(draft: Draft, folder: Path, tables: Mapping[str, Any]) -> dict[str, Any] | None:
    """Returns the robust rule that a task with these tables gets by default, if any."""
    try:
        file, products = parsed(tables), products_of(draft, folder)
    except (MingaError, OSError):
        return None
    return None if products is None else default_table(file, products.manifest.parameters.total)


def _is_valid(tables: Mapping[str, Any]) -> bool:
    """Whether the tables are a task file: the owner's values may contradict a rule."""
    try:
        parsed(tables)
    except MingaError:
        return False
    return True


def _values(draft: Draft, folder: Path, tables: Mapping[str, Any]) -> dict[str, Any]:
    return {proposal.key: proposal.value for proposal in plan_proposals(draft, folder, tables)}


def _changed(before: Mapping[str, Any], after: Mapping[str, Any]) -> set[str]:
    return {key for key in PLAN_KEYS if not _same(value_at(before, key), value_at(after, key))}


def _same(left: Any, right: Any) -> bool:
    return bool(left == right) and isinstance(left, bool) is isinstance(right, bool)
