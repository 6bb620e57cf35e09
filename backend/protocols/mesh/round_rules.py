"""What a round asks of the members of a mesh, which reports it takes, and which result counts."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping
from itertools import chain

from backend.errors import BadExamplesError, NotFiniteError, StaleRoundError, UpdateRefusedError
from backend.numerics.aggregation.update_checks import check_finite
from backend.protocols.mesh.group_orders import Averages, byzantine_order, group_orders
from backend.protocols.mesh.grouping import Links
from backend.protocols.mesh.trainee import GroupResult, Trainee
from backend.protocols.rounds.cohort_member import too_much, wrong_sums
from backend.protocols.rounds.deadline import PlannedWork
from backend.protocols.rounds.plan import RoundPlan
from backend.wire.mesh_messages import Averaged, Group, Trained


class MeshRoundRules:
    """The rules where the server assigns examples, and a majority's report tells a group's result."""

    def planned_work(self, plan: RoundPlan, examples: int, step_ms: float) -> PlannedWork:
        """Returns the most that a member with so many `examples` can do in a round."""
        return PlannedWork(plan.most_examples(examples), plan.most_steps(examples), step_ms)

    def orders(
        self,
        averages: Averages,
        trained: Mapping[str, Trained],
        seed: int,
        number: int,
        first: int,
        links: Links,
        seated: Collection[str],
    ) -> list[Group]:
        """Returns the groups of those that trained in round `number`, numbered from `first` on.

        `seated` are the clients that have a seat, where members agree on that.
        """
        del seated
        return group_orders(averages, trained, seed, number, first, links)

    def objection(self, member: Trainee, said: Trained, rows: int) -> UpdateRefusedError | None:
        """Returns why a training report is invalid, or None. `rows` is the number of metric rows."""
        if said.base != member.base:
            return StaleRoundError(
                f"Round {said.round} trains other weights than those. Load the ones it names."
            )
        return _impossible(member.work, said, rows) or _not_finite(said)

    def misreport(self, group: Group, client: str, said: Averaged) -> UpdateRefusedError | None:
        """Returns why a report on a group is invalid, or None."""
        survivors = [place for place in said.survivors if place < len(group.members)]
        if client not in [group.members[place] for place in survivors]:
            return _impossible_survivors(group)
        return _misreport(group, said)

    def reporters(self, group: Group, reports: Mapping[str, Averaged]) -> list[str]:
        """Returns the members that may report a result: all, until a report names the survivors."""
        for said in reports.values():
            return [group.members[place] for place in said.survivors]
        return group.members

    def result(self, reports: Mapping[str, Averaged], agreed: str | None) -> GroupResult | None:
        """Returns what counts as a group's result: that of which a majority of its survivors reports.

        `agreed` are the weights that members proved to have agreed on, where they prove that.
        """
        del agreed
        counts = Counter((one.weights, tuple(sorted(set(one.survivors)))) for one in reports.values())
        for (weights, survivors), count in counts.most_common(1):
            if 2 * count > len(survivors):
                return GroupResult(weights, _holders(reports, weights))
        return None


class ByzantineRoundRules(MeshRoundRules):
    """The rules where members check each other: they know by themselves what counts, and prove it."""

    def planned_work(self, plan: RoundPlan, examples: int, step_ms: float) -> PlannedWork:
        """A coin draws a member's examples, not the server, and it does the same steps in any case."""
        del examples
        return PlannedWork(plan.steps * plan.batch_size, plan.steps, step_ms)

    def orders(
        self,
        averages: Averages,
        trained: Mapping[str, Trained],
        seed: int,
        number: int,
        first: int,
        links: Links,
        seated: Collection[str],
    ) -> list[Group]:
        del links
        return [byzantine_order(averages, trained, seed, number, first, seated)]

    def objection(self, member: Trainee, said: Trained, rows: int) -> UpdateRefusedError | None:
        """The members agree on the weights to train from, and validators train nothing."""
        idle = said.examples == said.steps == len(said.sums) == 0
        return (None if idle else _impossible(member.work, said, rows)) or _not_finite(said)

    def misreport(self, group: Group, client: str, said: Averaged) -> UpdateRefusedError | None:
        """Also a member that made no part of the result holds it: newcomers, and who rests."""
        del client
        return _misreport(group, said)

    def reporters(self, group: Group, reports: Mapping[str, Averaged]) -> list[str]:
        """One report keeps nobody from reporting."""
        del reports
        return group.members

    def result(self, reports: Mapping[str, Averaged], agreed: str | None) -> GroupResult | None:
        """Whatever reports say, the result is what members proved that they agreed on."""
        if agreed is None or not (holders := _holders(reports, agreed)):
            return None
        return GroupResult(agreed, holders)


def round_rules(averages: Averages) -> MeshRoundRules:
    """Returns the rules of a mesh with these settings."""
    return ByzantineRoundRules() if averages.byzantine else MeshRoundRules()


def _impossible(work: PlannedWork, said: Trained, rows: int) -> UpdateRefusedError | None:
    return too_much(work, said.examples, said.steps) or wrong_sums(len(said.sums), rows)


def _not_finite(said: Trained) -> UpdateRefusedError | None:
    try:
        check_finite("loss", [said.loss])
        check_finite("list of metric sums", chain.from_iterable(said.sums))
    except NotFiniteError as error:
        return error
    return None


def _misreport(group: Group, said: Averaged) -> UpdateRefusedError | None:
    survivors = set(said.survivors)
    fits = len(survivors) == len(said.survivors) and all(place < len(group.members) for place in survivors)
    if not fits or len(survivors) < group.least:
        return _impossible_survivors(group)
    if not 0.0 < said.fraction <= 1.0 + 1e-9 or not 0.0 <= said.seconds < math.inf:
        return NotFiniteError("The fraction is above 0 and at most 1, and the seconds are not negative.")
    return None


def _impossible_survivors(group: Group) -> UpdateRefusedError:
    return BadExamplesError(
        f"These survivors are impossible: name yourself and at least {group.least} of your group."
    )


def _holders(reports: Mapping[str, Averaged], weights: str) -> tuple[str, ...]:
    return tuple(name for name, one in reports.items() if one.weights == weights)
