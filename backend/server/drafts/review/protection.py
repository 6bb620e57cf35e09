"""What a draft's task would tell of its volunteers, and what could be chosen to tell less."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from backend.errors import MingaError, TaskFileError
from backend.formats.manifest import Manifest
from backend.formats.task_file import TaskFile
from backend.formats.task_file.privacy import PrivacyTable
from backend.server.disclosure.rounds import fewest_updates
from backend.server.disclosure.statement import Guarantee
from backend.server.drafts.record import Draft
from backend.server.drafts.review.cost_preview import DraftProducts, products_of
from backend.server.drafts.task_tables import fixed, parsed
from backend.server.estimates.protection_choices import Tables, options
from backend.server.privacy.accountant import ask_accountant
from backend.server.privacy.epsilon import NoiseAsked
from backend.server.privacy.mechanism import Mechanism
from backend.server.privacy.privacy_budget import PrivacyBudget, open_account, visits_of
from backend.server.schemes import scheme_of
from backend.server.tasks.task_validation import check_task, noisy_norm_bound

_KEPT, _TRIES = 64, 8
_POINTS = 24


class Protection:
    """Owns the figures that the accountant has found: each takes seconds, and pages ask again and again."""

    def __init__(self) -> None:
        self._found: OrderedDict[bytes, PrivacyBudget | str | float] = OrderedDict()
        # One at a time: each is a process.
        self._asking = asyncio.Lock()

    async def report(
        self, draft: Draft, folder: Path, task: Mapping[str, Any] | None, epsilon: float | None
    ) -> dict[str, Any]:
        """Who could learn what with the tables of `task`, and every other choice (docs/reference/drafts.md).

        With `epsilon` also the noise that it takes.
        """
        made = await asyncio.to_thread(products_of, draft, folder)
        try:
            tables = draft.task if task is None else fixed(task)
        except MingaError as error:
            return _nothing(str(error))
        chosen = await asyncio.to_thread(_options, tables, made)
        told: dict[str, Any] = {"options": [one.to_json() for one in chosen], "needed": None}
        try:
            file = _checked(tables, made)
            account = await self._account(file, made.manifest) if made is not None else None
            if epsilon is not None and file.privacy is not None:
                told["needed"] = await self._enough(file, file.privacy, made, epsilon)
        except MingaError as error:
            return _nothing(str(error)) | told
        return _sentences(file, account, made is not None) | told

    async def _account(self, file: TaskFile, manifest: Manifest) -> PrivacyBudget | None:
        """What all planned rounds come to. Raises TaskFileError."""
        if file.privacy is None:
            return None
        rows = sum(one.rows for one in manifest.metrics)
        key = [file.privacy, file.coordination.rounds, visits_of(file), file.security.masked]
        name = msgspec.json.encode([*key, manifest.parameters, rows])
        async with self._asking:
            if name not in self._found:
                try:
                    found = await open_account(file, [], manifest.parameters.total, rows)
                    self._keep(name, found or "")
                except MingaError as error:
                    self._keep(name, str(error))
        kept = self._found[name]
        if isinstance(kept, PrivacyBudget):
            return kept
        raise TaskFileError(str(kept))

    async def _enough(
        self, file: TaskFile, privacy: PrivacyTable, made: DraftProducts | None, epsilon: float
    ) -> float | None:
        """The noise multiplier that keeps a client of all rounds at or below `epsilon`; None where none is
        found. Raises TaskFileError."""
        noise = await self._noise(file, privacy, epsilon)
        if privacy.mechanism != "distributed":
            return noise
        # Rounded shares of noise are worth a little less than Gaussian noise.
        for _ in range(_TRIES if made is not None else 0):
            tried = replace(file, privacy=replace(privacy, noise_multiplier=noise, epsilon=None))
            account = await self._account(tried, made.manifest) if made is not None else None
            found = None if account is None else account.epsilon(file.coordination.rounds)
            if found is None:
                return None
            if found <= epsilon:
                return noise
            noise *= max(1.01, found / epsilon)
        return None

    async def _noise(self, file: TaskFile, privacy: PrivacyTable, epsilon: float) -> float:
        """The least noise multiplier that keeps a client of all rounds at or below `epsilon`."""
        visits = visits_of(file) if privacy.of_examples else 1
        rounds = file.coordination.rounds
        mechanism = Mechanism(privacy.mechanism, 0.0, rounds, privacy.tree, None, visits, privacy.microbatch)
        asked = NoiseAsked(mechanism, rounds, 1.0, privacy.delta, epsilon)
        name = msgspec.json.encode(asked)
        async with self._asking:
            if name not in self._found:
                self._keep(name, await asyncio.to_thread(ask_accountant, asked, float))
        return float(self._found[name])  # type: ignore[arg-type]  # a name is that of one kind

    def _keep(self, name: bytes, found: PrivacyBudget | str | float) -> None:
        self._found[name] = found
        while len(self._found) > _KEPT:
            self._found.popitem(last=False)


def _nothing(problem: str) -> dict[str, Any]:
    return {"problem": problem, "disclosure": None, "fewest": None, "guarantee": None, "curve": []}


def _sentences(file: TaskFile, account: PrivacyBudget | None, converted: bool) -> dict[str, Any]:
    rounds = file.coordination.rounds
    told = account.report(rounds, account.privacy.clip) if account is not None else None
    guarantee = None
    if told is not None:
        guarantee = Guarantee(**{key: told[key] for key in ("sentence", "epsilon", "delta", "budget")})
    points = account.curve.points if account is not None and account.curve is not None else []
    step = max(1, len(points) // _POINTS)
    within = [point for point in points if point[0] <= rounds]
    waits = "Convert the model first: what noise is worth depends on it."
    return {
        "problem": None,
        "waits": waits if file.privacy is not None and not converted else None,
        "disclosure": asdict(scheme_of(file).disclose(file, guarantee)),
        "fewest": fewest_updates(file),
        "guarantee": told,
        "curve": [*within[::step], *within[-1:]],
    }


def _options(tables: Mapping[str, Any], made: DraftProducts | None) -> Any:
    def check(changed: Tables) -> TaskFile:
        return _checked(changed, made)

    def mend(changed: Tables) -> None:
        """Local noise makes updates long: the bound on them is raised where it would refuse all."""
        if made is None:
            return
        try:
            file = parsed(changed)
        except MingaError:
            return
        if (needed := noisy_norm_bound(file, made.manifest)) > file.security.max_update_norm:
            changed.setdefault("security", {})["max_update_norm"] = float(needed)

    return options(tables, check, mend)


def _checked(tables: Mapping[str, Any], made: DraftProducts | None) -> TaskFile:
    """The task file, sound and, as far as there is a model, one that suits it. Raises TaskFileError."""
    file = parsed(tables)
    if made is not None:
        check_protection(file, made)
    return file


def check_protection(file: TaskFile, made: DraftProducts) -> None:
    """Raises TaskFileError where the task file does not suit the model."""
    index = made.shards
    held = bool(index.holdout) if index is not None else file.data.holdout > 0.0
    check_task(file, made.manifest, held, held)
