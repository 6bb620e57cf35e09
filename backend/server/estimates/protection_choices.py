"""What can be chosen for the protection of volunteers, and what each choice changes in the task file."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from backend.errors import MingaError
from backend.formats.task_file import TaskFile
from backend.protocols.mesh.allreduce.plan import LEAST_MASKED

Tables = dict[str, Any]
_FEWEST, _USUAL = 3, 8
_CLIP, _NOISE, _DELTA = 1.0, 1.0, 1e-5
_CENTRAL_ONLY = ("adaptive", "tree")


@dataclass(frozen=True)
class PlanChange:
    """A key such as `coordination.quorum` that another choice needs to be otherwise; None: not there."""

    key: str
    before: Any
    after: Any


@dataclass(frozen=True)
class Option:
    """One of the alternatives of a `part`. `task` are the tables with it, which hold `changes` beside it;
    `refused` is the sentence of the rule against it. `patch` makes them of those before (RFC 7396)."""

    part: str
    key: str
    chosen: bool
    task: Tables
    changes: list[PlanChange]
    refused: str | None
    patch: Tables

    def to_json(self) -> dict[str, Any]:
        """As the API tells it."""
        told = asdict(self)
        del told["task"]
        return told


Check = Callable[[Tables], TaskFile]


def options(tables: Mapping[str, Any], check: Check, mend: Callable[[Tables], None]) -> list[Option]:
    """All that could be chosen instead of what `tables` have.

    `mend` adds what a choice needs of this model; `check` raises MingaError for what cannot be.
    """
    chosen = {"updates": updates_of(tables), "noise": noise_of(tables)}
    return [
        _option(tables, part, key, chosen[part] == key, make, check, mend)
        for part, keys in (("updates", _UPDATES), ("noise", _NOISES))
        for key, make in keys.items()
    ]


def updates_of(tables: Mapping[str, Any]) -> str:
    """How updates are added up: `open`, `masked` or `either`."""
    ways = _table(tables, "security").get("aggregation", ["open"])
    return "either" if len(ways) > 1 else "masked" if "masked" in ways else "open"


def noise_of(tables: Mapping[str, Any]) -> str:
    """Where noise is added: `none`, or the mechanism."""
    return str(_table(tables, "privacy").get("mechanism", "none"))


def _option(
    tables: Mapping[str, Any],
    part: str,
    key: str,
    chosen: bool,
    make: Callable[[Tables], None],
    check: Check,
    mend: Callable[[Tables], None],
) -> Option:
    made: Tables = copy.deepcopy(dict(tables))
    if not chosen:
        make(made)
        mend(made)
    try:
        check(made)
        refused = None
    except MingaError as error:
        refused = str(error)
    return Option(part, key, chosen, made, _changes(tables, made), refused, _patch(tables, made))


def _changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[PlanChange]:
    """Keys of the rounds, and the bound on updates, that differ: not those that the choice itself is."""
    found = []
    for name in ("coordination", "security"):
        old, new = _flat(_table(before, name), name), _flat(_table(after, name), name)
        keys = [key for key in {**old, **new} if old.get(key) != new.get(key)]
        found += [
            PlanChange(key, old.get(key), new.get(key))
            for key in keys
            if not key.startswith("security.aggreg")
        ]
    return found


def _flat(table: Mapping[str, Any], path: str) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in table.items():
        inner = f"{path}.{key}"
        flat |= _flat(value, inner) if isinstance(value, Mapping) else {inner: value}
    return flat


def _patch(before: Mapping[str, Any], after: Mapping[str, Any]) -> Tables:
    """What merged into `before` makes `after`: None takes a key out."""
    patch: Tables = {key: None for key in before if key not in after}
    for key, value in after.items():
        old = before.get(key)
        if isinstance(value, Mapping) and isinstance(old, Mapping):
            if inner := _patch(old, value):
                patch[key] = inner
        elif key not in before or old != value:
            patch[key] = value
    return patch


def _open(made: Tables) -> None:
    security = made.setdefault("security", {})
    security["aggregation"] = ["open"]
    security.pop("masking", None)


def _masked(made: Tables) -> None:
    made.setdefault("security", {})["aggregation"] = ["masked"]
    _mask(made)


def _either(made: Tables) -> None:
    made.setdefault("security", {})["aggregation"] = ["masked", "open"]
    _mask(made)


def _mask(made: Tables) -> None:
    """Has rounds wait for as many as masks need."""
    security, rounds = made["security"], made.setdefault("coordination", {})
    if rounds.get("scheme") == "volunteer":
        # There are no rounds; the task file's rules say why masks do not go with that.
        return
    if rounds.get("scheme") == "decentralized":
        security.pop("masking", None)
        least = LEAST_MASKED
        averaging = rounds.get("averaging", {})
        if _number(averaging.get("group_size"), least) < least:
            averaging["group_size"] = least
    else:
        waits = _number(rounds.get("min_available_clients"), 2)
        masking = security.setdefault("masking", {})
        least = masking.setdefault("min_clients", max(_FEWEST, min(_USUAL, waits)))
    for key, usual in (("min_available_clients", 2), ("quorum", 1)):
        rounds[key] = max(_number(rounds.get(key), usual), least)
    if _number(rounds.get("fraction_train"), 1) < 1:
        rounds["min_train_clients"] = max(_number(rounds.get("min_train_clients"), 2), least)


def _noised(mechanism: str) -> Callable[[Tables], None]:
    def make(made: Tables) -> None:
        usual = {"clip": _CLIP, "noise_multiplier": _NOISE, "delta": _DELTA}
        privacy = usual | made.get("privacy", {}) | {"mechanism": mechanism}
        dropped = () if mechanism == "central" else _CENTRAL_ONLY
        dropped = dropped if mechanism == "examples" else (*dropped, "microbatch")
        made["privacy"] = {key: value for key, value in privacy.items() if key not in dropped}

    return make


def _quiet(made: Tables) -> None:
    made.pop("privacy", None)


def _table(tables: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = tables.get(name)
    return found if isinstance(found, Mapping) else {}


def _number(value: Any, usual: int) -> Any:
    """`value`, which an owner may have written as anything."""
    return value if isinstance(value, int | float) else usual


_UPDATES: dict[str, Callable[[Tables], None]] = {"open": _open, "masked": _masked, "either": _either}
_NOISES: dict[str, Callable[[Tables], None]] = {
    "none": _quiet,
    **{name: _noised(name) for name in ("central", "local", "distributed", "examples")},
}
