"""Reports what a draft's task would disclose of its volunteers, and the options that disclose less."""

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
from backend.formats.task_file.reading.dotted_keys import value_at
from backend.server.disclosure.round_sizes import fewest_updates
from backend.server.disclosure.statement import Guarantee
from backend.server.drafts.record import Draft
from backend.server.drafts.review.cost_preview import VOLUNTEERS, DraftProducts, products_of
from backend.server.drafts.task_tables import fixed, parsed
from backend.server.estimates.protection_choices import Tables, options
from backend.server.estimates.robust.rule_choices import robust_choices
from backend.server.privacy.accountant import ask_accountant
from backend.server.privacy.epsilon import NoiseQuery
from backend.server.privacy.mechanism import Mechanism
from backend.server.privacy.privacy_budget import PrivacyBudget, open_account, visits_of
from backend.server.schemes import scheme_of
from backend.server.tasks.task_validation import check_recipe, check_task, noisy_norm_bound
from backend.translation import gettext

_CACHE_SIZE, _ATTEMPTS = 64, 8
_CURVE_POINTS = 24
# As many clients as a request may expect.
MOST_EXPECTED = 10_000


class Protection:
    """Owns a cache of the accountant's results: each takes seconds, and pages request them repeatedly."""

    def __init__(self) -> None:
        self._results: OrderedDict[bytes, PrivacyBudget | str | float] = OrderedDict()
        # Each computation runs in a process, so only one runs at a time.
        self._lock = asyncio.Lock()

    async def report(
        self,
        draft: Draft,
        folder: Path,
        task: Mapping[str, Any] | None,
        epsilon: float | None,
        clients: int | None = None,
    ) -> dict[str, Any]:
        """Reports who could learn what with the tables of `task`, and every other option.

        With `epsilon` also the noise that it requires. `clients` are expected in a round. See
        docs/reference/drafts.md.
        """
        products = await asyncio.to_thread(products_of, draft, folder)
        try:
            tables = draft.task if task is None else fixed(task)
        except MingaError as error:
            return _problem(str(error))
        report = await asyncio.to_thread(_options, tables, products, clients) | {"needed": None}
        try:
            file = _checked(tables, products)
            account = await self._account(file, products.manifest) if products is not None else None
            if epsilon is not None and file.privacy is not None:
                report["needed"] = await self._sufficient_noise(file, file.privacy, products, epsilon)
        except MingaError as error:
            return _problem(str(error)) | report
        return _sentences(file, account, products is not None) | report

    async def _account(self, file: TaskFile, manifest: Manifest) -> PrivacyBudget | None:
        """Returns the privacy budget of all planned rounds; None without privacy. Raises TaskFileError."""
        if file.privacy is None:
            return None
        rows = sum(metric.rows for metric in manifest.metrics)
        key = [file.privacy, file.coordination.rounds, visits_of(file), file.security.masked]
        name = msgspec.json.encode([*key, manifest.parameters, rows])
        async with self._lock:
            if name not in self._results:
                try:
                    budget = await open_account(file, [], manifest.parameters.total, rows)
                    self._cache(name, budget or "")
                except MingaError as error:
                    self._cache(name, str(error))
        result = self._results[name]
        if isinstance(result, PrivacyBudget):
            return result
        raise TaskFileError(str(result))

    async def _sufficient_noise(
        self, file: TaskFile, privacy: PrivacyTable, products: DraftProducts | None, epsilon: float
    ) -> float | None:
        """Returns the noise multiplier that keeps a client of all rounds at or below `epsilon`.

        None if none is found. Raises TaskFileError.
        """
        noise = await self._noise(file, privacy, epsilon)
        if privacy.mechanism != "distributed":
            return noise
        # Rounded shares of noise protect a little less than Gaussian noise.
        for _attempt in range(_ATTEMPTS if products is not None else 0):
            candidate = replace(file, privacy=replace(privacy, noise_multiplier=noise, epsilon=None))
            account = await self._account(candidate, products.manifest) if products is not None else None
            spent = None if account is None else account.epsilon(file.coordination.rounds)
            if spent is None:
                return None
            if spent <= epsilon:
                return noise
            noise *= max(1.01, spent / epsilon)
        return None

    async def _noise(self, file: TaskFile, privacy: PrivacyTable, epsilon: float) -> float:
        """Returns the smallest noise multiplier that keeps a client of all rounds within `epsilon`."""
        visits = visits_of(file) if privacy.of_examples else 1
        rounds = file.coordination.rounds
        mechanism = Mechanism(privacy.mechanism, 0.0, rounds, privacy.tree, None, visits, privacy.microbatch)
        query = NoiseQuery(mechanism, rounds, 1.0, privacy.delta, epsilon)
        name = msgspec.json.encode(query)
        async with self._lock:
            if name not in self._results:
                self._cache(name, await asyncio.to_thread(ask_accountant, query, float))
        return float(self._results[name])  # type: ignore[arg-type]  # Queries of noise give floats.

    def _cache(self, name: bytes, result: PrivacyBudget | str | float) -> None:
        self._results[name] = result
        while len(self._results) > _CACHE_SIZE:
            self._results.popitem(last=False)


def _problem(problem: str) -> dict[str, Any]:
    return {"problem": problem, "disclosure": None, "fewest": None, "guarantee": None, "curve": []}


def _sentences(file: TaskFile, account: PrivacyBudget | None, converted: bool) -> dict[str, Any]:
    rounds = file.coordination.rounds
    report = account.report(rounds, account.privacy.clip) if account is not None else None
    guarantee = None
    if report is not None:
        guarantee = Guarantee(**{key: report[key] for key in ("sentence", "epsilon", "delta", "budget")})
    points = account.curve.points if account is not None and account.curve is not None else []
    step = max(1, len(points) // _CURVE_POINTS)
    within = [point for point in points if point[0] <= rounds]
    waits = gettext("Convert the model first: the guarantee of the noise depends on it.")
    return {
        "problem": None,
        "waits": waits if file.privacy is not None and not converted else None,
        "disclosure": asdict(scheme_of(file).disclose(file, guarantee)),
        "fewest": fewest_updates(file),
        "guarantee": report,
        "curve": [*within[::step], *within[-1:]],
    }


def _options(
    tables: Mapping[str, Any], products: DraftProducts | None, clients: int | None
) -> dict[str, Any]:
    def check(changed: Tables) -> TaskFile:
        return _checked(changed, products)

    def mend(changed: Tables) -> None:
        """Raises the norm bound if it would refuse every update with local noise, which makes them long."""
        if products is None:
            return
        try:
            file = parsed(changed)
        except MingaError:
            return
        if (needed := noisy_norm_bound(file, products.manifest)) > file.security.max_update_norm:
            changed.setdefault("security", {})["max_update_norm"] = float(needed)

    parameters = None if products is None else products.manifest.parameters.total
    return {
        "options": [option.to_json() for option in options(tables, check, mend)],
        "robust": robust_choices(tables, clients or _expected(tables), parameters, check, mend),
    }


def _expected(tables: Mapping[str, Any]) -> int:
    """Returns how many clients are expected in a round: the usual number, or those that it needs."""
    needed = value_at(tables, "coordination.min_available_clients")
    return min(MOST_EXPECTED, max(VOLUNTEERS, needed if isinstance(needed, int) else 0))


def _checked(tables: Mapping[str, Any], products: DraftProducts | None) -> TaskFile:
    """Parses the task file and checks it against the model, if there is one. Raises TaskFileError."""
    file = parsed(tables)
    if products is not None:
        check_protection(file, products)
    return file


def check_protection(file: TaskFile, products: DraftProducts) -> None:
    """Raises TaskFileError if the task file does not fit the model."""
    index = products.shards
    holdout = bool(index.holdout) if index is not None else file.data.holdout > 0.0
    check_task(file, products.manifest, holdout, holdout)
    check_recipe(file, products.manifest, products.rows)
