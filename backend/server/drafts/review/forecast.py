"""Says what to expect of a draft's plan, from its trial on the server."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from backend.formats.task_file.units import VcAsgd
from backend.server.drafts.record import Draft
from backend.server.drafts.review.checklist import fingerprint, holds
from backend.server.drafts.review.cost_preview import VOLUNTEERS, products_of
from backend.server.drafts.task_tables import parsed
from backend.server.estimates.data_supply import cut_supply
from backend.server.estimates.round_costs import cohort, examples_of_client
from backend.server.estimates.unit_costs import unit_rows
from backend.server.sandbox.plan_trial import LearningCurve, TrialPlan
from backend.translation import gettext, later

# Simulated clients of a round, at most.
_CLIENTS = 3
# A plan whose accuracy is at most so much above chance has learned nothing.
_MARGIN = 0.05
# Without an accuracy: the share of the first loss above which nothing was learned.
_SAME_LOSS = 0.95
_ACCURACY = later(
    "Tried on this server: after %(rounds)s rounds about %(right)s are right. Guessing "
    "the most frequent class gives %(chance)s."
)
_ACCURACY_SO_FAR = later(
    "Tried on this server for a minute: after %(rounds)s of %(of)s rounds about %(right)s are right, and it "
    "continues. Guessing the most frequent class gives %(chance)s."
)
_AT_CHANCE = later(
    "This plan ends at chance: after %(rounds)s of %(of)s rounds about %(right)s are right, and guessing the "
    "most frequent class gives %(chance)s. Take the proposed plan, more rounds or passes, or another "
    "learning rate before you launch."
)
_LOSS = later("Tried on this server: after %(rounds)s rounds the loss has fallen from %(first)s to %(last)s.")
_LOSS_SO_FAR = later(
    "Tried on this server for a minute: after %(rounds)s of %(of)s rounds the loss has fallen from %(first)s "
    "to %(last)s, and it continues."
)
_NO_BETTER_LOSS = later(
    "This plan learns nothing: after %(rounds)s of %(of)s rounds the loss is %(last)s, and it was %(first)s "
    "before. Take the proposed plan, more rounds or passes, or another learning rate before you launch."
)


class Forecast(Struct, frozen=True):
    """What to expect of a plan, a sentence; `warns` says that it ends at chance."""

    text: str
    warns: bool


def trial_plan(draft: Draft, folder: Path) -> TrialPlan | None:
    """Returns what a trial of the draft's plan trains; None before the data are cut. Raises TaskFileError."""
    file, products = parsed(draft.task), products_of(draft, folder)
    if products is None or products.shards is None:
        return None
    manifest, supply, training = products.manifest, cut_supply(products.shards), file.training
    rate = training.learning_rate or manifest.optimizer.learning_rate
    visits = (training.epochs or 1, training.steps, rate)
    units = file.coordination.units
    if units is None:
        # More would take longer, and bring the mean little further.
        clients = min(_CLIENTS, cohort(file, max(VOLUNTEERS, file.coordination.required_clients)))
        return TrialPlan(
            file.coordination.rounds, clients, examples_of_client(file, supply), *visits, units=False
        )
    rows = max(1, unit_rows(file, manifest, supply))
    alpha = units.assimilation.alpha if isinstance(units.assimilation, VcAsgd) else None
    return TrialPlan(
        file.coordination.rounds,
        max(1, round(supply.examples / rows)),
        rows,
        *visits,
        units=True,
        alpha=alpha,
    )


def forecast(draft: Draft, folder: Path) -> Forecast | None:
    """Returns what the newest trial of the current plan says; None without one."""
    job = draft.jobs.get("forecast")
    if job is not None and job.state == "failed" and job.log and job.of == fingerprint(draft, "forecast"):
        return Forecast(job.log[-1].text, True)
    if job is None or job.result is None or not holds(draft, "forecast", folder):
        return None
    return forecast_of(msgspec.convert(job.result, LearningCurve))


def forecast_of(curve: LearningCurve) -> Forecast | None:
    """Returns what a learning curve says; None if nothing was trained."""
    if len(curve.curve) < 2:
        return None
    (_, first, _), (rounds, loss, accuracy) = curve.curve[0], curve.curve[-1]
    words: dict[str, Any] = {"rounds": rounds, "of": curve.of}
    if accuracy is None or curve.chance is None:
        words |= {"first": f"{first:.3g}", "last": f"{loss:.3g}"}
        if loss > _SAME_LOSS * first:
            return Forecast(gettext(_NO_BETTER_LOSS) % words, True)
        sentence = _LOSS if rounds >= curve.of else _LOSS_SO_FAR
        return Forecast(gettext(sentence) % words, False)
    words |= {"right": f"{accuracy:.0%}", "chance": f"{curve.chance:.0%}"}
    if accuracy < curve.chance + _MARGIN:
        return Forecast(gettext(_AT_CHANCE) % words, True)
    return Forecast(gettext(_ACCURACY if rounds >= curve.of else _ACCURACY_SO_FAR) % words, False)
