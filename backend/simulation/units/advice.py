"""Writes advice for an owner after a trial of work units, in sentences that say what to change."""

from __future__ import annotations

from collections.abc import Iterator

from backend.simulation.units.outcome import UnitRunFigures
from backend.simulation.units.store_costs import StoreName

# Shares above which a sentence is written.
BUSY, OVERWRITTEN, LATE, WASTED, GIVEN_UP = 0.8, 0.2, 0.1, 0.3, 0.005


def unit_advice(plan: UnitRunFigures, store: StoreName) -> list[str]:
    """Returns sentences of advice, the most urgent first; an empty list if nothing is wrong."""
    return [*_unfinished(plan), *_given_up(plan), *_servers(plan, store), *_late(plan), *_wasted(plan)]


def _unfinished(plan: UnitRunFigures) -> Iterator[str]:
    if not plan.finished:
        yield (
            f"After {len(plan.epoch_ends)} epochs no result counted for hours: too few clients can confirm "
            "one another's results. Lower coordination.units.trust.replicas, or ask more people."
        )


def _given_up(plan: UnitRunFigures) -> Iterator[str]:
    if plan.finished and plan.visited < 1.0 - GIVEN_UP:
        yield (
            f"{1.0 - plan.visited:.0%} of the rows were given up: clients left before they were through. "
            "Make units smaller (coordination.units.rows)."
        )


def _servers(plan: UnitRunFigures, store: StoreName) -> Iterator[str]:
    kept = plan.units("in the model")
    if kept and plan.overwritten > OVERWRITTEN * kept:
        yield (
            f"{plan.overwritten / kept:.0%} of the results were overwritten by other parameter servers: take "
            "fewer (--parameter-servers), or a store in which one waits for another (memory, postgresql)."
        )
    if (plan.servers_busy or 0.0) > BUSY:
        remedy = (
            "The parameters in memory take less time"
            if store != "memory"
            else "Larger units (coordination.units.rows) give fewer results"
        )
        yield f"The parameter servers were busy for {plan.servers_busy:.0%} of the time. {remedy}."


def _late(plan: UnitRunFigures) -> Iterator[str]:
    late = plan.units("late")
    if late > LATE * plan.handed_out:
        yield (
            f"{late / plan.handed_out:.0%} of the units came late: raise "
            "coordination.units.lease, or make units smaller (coordination.units.rows)."
        )


def _wasted(plan: UnitRunFigures) -> Iterator[str]:
    if (plan.wasted_steps or 0.0) > WASTED:
        yield (
            f"{plan.wasted_steps:.0%} of the steps were in vain. Smaller units (coordination.units.rows) "
            "lose less when a client leaves or is preempted."
        )
