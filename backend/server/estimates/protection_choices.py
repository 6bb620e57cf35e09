"""Lists the options for volunteers' protection, and what each changes in the task file."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from backend.errors import MingaError
from backend.formats.task_file import TaskFile
from backend.protocols.mesh.allreduce.plan import LEAST_MASKED

Tables = dict[str, Any]
_MIN_MASKED, _DEFAULT_MASKED = 3, 8
_CLIP, _NOISE, _DELTA = 1.0, 1.0, 1e-5
_CENTRAL_ONLY = ("adaptive", "tree")


@dataclass(frozen=True)
class PlanChange:
    """A key such as `coordination.quorum` whose value an option has to change; None: the key is absent."""

    key: str
    before: Any
    after: Any


@dataclass(frozen=True)
class Option:
    """One of the alternatives of a `part`. `task` are the tables with it, including its other `changes`.

    `refused` is the sentence of the rule against it. `patch` changes the current tables into `task`
    (RFC 7396).
    """

    part: str
    key: str
    chosen: bool
    task: Tables
    changes: list[PlanChange]
    refused: str | None
    patch: Tables

    def to_json(self) -> dict[str, Any]:
        """Returns the option as the API sends it, without `task`."""
        fields = asdict(self)
        del fields["task"]
        return fields


Check = Callable[[Tables], TaskFile]


def options(tables: Mapping[str, Any], check: Check, mend: Callable[[Tables], None]) -> list[Option]:
    """Returns all options for `tables`, the chosen ones included.

    `mend` adds the changes that an option needs for this model; `check` raises MingaError for invalid tables.
    """
    chosen = {"updates": updates_of(tables), "noise": noise_of(tables)}
    return [
        make_option(tables, part, key, chosen[part] == key, make, check, mend)
        for part, keys in (("updates", _UPDATES), ("noise", _NOISES))
        for key, make in keys.items()
    ]


def updates_of(tables: Mapping[str, Any]) -> str:
    """Returns how updates are aggregated: `open`, `masked` or `either`."""
    ways = _table(tables, "security").get("aggregation", ["open"])
    return "either" if len(ways) > 1 else "masked" if "masked" in ways else "open"


def noise_of(tables: Mapping[str, Any]) -> str:
    """Returns the noise mechanism, or `none`."""
    return str(_table(tables, "privacy").get("mechanism", "none"))


def make_option(
    tables: Mapping[str, Any],
    part: str,
    key: str,
    chosen: bool,
    make: Callable[[Tables], None],
    check: Check,
    mend: Callable[[Tables], None],
) -> Option:
    """Returns the option for which `make` changes a copy of `tables`, unless it is `chosen` already."""
    new: Tables = copy.deepcopy(dict(tables))
    if not chosen:
        make(new)
        mend(new)
    try:
        check(new)
        refused = None
    except MingaError as error:
        refused = str(error)
    return Option(part, key, chosen, new, _changes(tables, new), refused, _patch(tables, new))


def _changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[PlanChange]:
    """Returns the differing keys of rounds and security, without those of the choice itself."""
    changes = []
    for name in ("coordination", "security"):
        old, new = _flat(_table(before, name), name), _flat(_table(after, name), name)
        keys = [key for key in {**old, **new} if old.get(key) != new.get(key)]
        changes += [PlanChange(key, old.get(key), new.get(key)) for key in keys if not _is_choice(key)]
    return changes


def _is_choice(key: str) -> bool:
    """Whether the key belongs to a choice itself: of a robust rule the name alone is a change to others."""
    return key.startswith(("security.aggreg", "security.robust.")) and key != "security.robust.rule"


def _flat(table: Mapping[str, Any], path: str) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in table.items():
        inner = f"{path}.{key}"
        flat |= _flat(value, inner) if isinstance(value, Mapping) else {inner: value}
    return flat


def _patch(before: Mapping[str, Any], after: Mapping[str, Any]) -> Tables:
    """Returns the patch that changes `before` into `after`; None removes a key."""
    patch: Tables = {key: None for key in before if key not in after}
    for key, value in after.items():
        old = before.get(key)
        if isinstance(value, Mapping) and isinstance(old, Mapping):
            if inner := _patch(old, value):
                patch[key] = inner
        elif key not in before or old != value:
            patch[key] = value
    return patch


def _open(new: Tables) -> None:
    security = new.setdefault("security", {})
    security["aggregation"] = ["open"]
    security.pop("masking", None)
    if isinstance(security.get("robust"), dict):
        security["robust"].pop("groups", None)


def _masked(new: Tables) -> None:
    new.setdefault("security", {})["aggregation"] = ["masked"]
    _mask(new)


def _either(new: Tables) -> None:
    new.setdefault("security", {})["aggregation"] = ["masked", "open"]
    _mask(new)


def _mask(new: Tables) -> None:
    """Raises the numbers of clients of a round to what masks need."""
    security, rounds = new["security"], new.setdefault("coordination", {})
    _drop_single_updates_rule(security)
    if rounds.get("scheme") == "volunteer":
        # Work units have no rounds; the task file's rules refuse masks with a reason.
        return
    if rounds.get("scheme") == "decentralized":
        security.pop("masking", None)
        minimum = LEAST_MASKED
        averaging = rounds.get("averaging", {})
        if _number(averaging.get("group_size"), minimum) < minimum:
            averaging["group_size"] = minimum
    else:
        waits = _number(rounds.get("min_available_clients"), 2)
        masking = security.setdefault("masking", {})
        minimum = masking.setdefault("min_clients", max(_MIN_MASKED, min(_DEFAULT_MASKED, waits)))
        minimum *= _number(_table(security, "robust").get("groups"), 1)
    raise_clients(rounds, minimum)


def raise_clients(rounds: Tables, minimum: int) -> None:
    """Raises the numbers of clients that [coordination] asks of a round to `minimum`."""
    for key, default in (("min_available_clients", 2), ("quorum", 1)):
        rounds[key] = max(_number(rounds.get(key), default), minimum)
    if _number(rounds.get("fraction_train"), 1) < 1:
        rounds["min_train_clients"] = max(_number(rounds.get("min_train_clients"), 2), minimum)


def _drop_single_updates_rule(security: Tables) -> None:
    """Removes a robust rule on single updates, which neither masks nor noise leave comparable."""
    if isinstance(robust := security.get("robust"), dict) and robust.get("groups") is None:
        del security["robust"]


def _noised(mechanism: str) -> Callable[[Tables], None]:
    def make(new: Tables) -> None:
        if isinstance(security := new.get("security"), dict):
            _drop_single_updates_rule(security)
        default = {"clip": _CLIP, "noise_multiplier": _NOISE, "delta": _DELTA}
        privacy = default | new.get("privacy", {}) | {"mechanism": mechanism}
        dropped = () if mechanism == "central" else _CENTRAL_ONLY
        dropped = dropped if mechanism == "examples" else (*dropped, "microbatch")
        new["privacy"] = {key: value for key, value in privacy.items() if key not in dropped}

    return make


def _quiet(new: Tables) -> None:
    new.pop("privacy", None)


def _table(tables: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    table = tables.get(name)
    return table if isinstance(table, Mapping) else {}


def _number(value: Any, default: int) -> Any:
    """Returns `value` if it is a number, else `default`: an owner may have written anything."""
    return value if isinstance(value, int | float) else default


_UPDATES: dict[str, Callable[[Tables], None]] = {"open": _open, "masked": _masked, "either": _either}
_NOISES: dict[str, Callable[[Tables], None]] = {
    "none": _quiet,
    **{name: _noised(name) for name in ("central", "local", "distributed", "examples")},
}
