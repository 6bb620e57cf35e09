"""Says how the members of a mesh check each other, and what a plan leaves to liars."""

from __future__ import annotations

import math
from collections.abc import Iterator

from backend.formats.task_file import Coordination, TaskFile, exactness
from backend.formats.task_file.byzantine import ByzantineTable
from backend.formats.task_file.rules.byzantine import ADVISED_STEPS, MOST_STEPS
from backend.protocols.mesh.byzantine.checks import RADIUS_CHANGE
from backend.server.tasks.formatting import number
from backend.translation import gettext, ngettext

# Of so many members all but one convict a liar even if one of them is missing.
ENOUGH_MEMBERS = 4
# Honest results were so far apart after MOST_STEPS (docs/explanation/strangers.md).
FARTHEST = 0.41
_FEW_STEPS = 5


def described_checks(plan: Coordination) -> Iterator[str]:
    """Yields how members check each other; nothing where they do not."""
    chosen = plan.byzantine
    if chosen is None:
        return
    yield gettext(
        "Members check each other: they make means again that are in doubt, and ban liars on evidence that "
        "all of them have."
    )
    if chosen.validators:
        yield ngettext(
            "In each round %(count)s member does another one's work again, instead of its own.",
            "In each round %(count)s members do the work of others again, instead of their own.",
            chosen.validators,
        ) % {"count": chosen.validators}
    if chosen.probation:
        yield gettext(
            "A newcomer's work counts, and it votes, after %(rounds)s rounds, once %(audits)s members found "
            "its work right, or more than half where fewer have seats."
        ) % {"rounds": number(chosen.probation), "audits": number(chosen.audits)}


def check_warnings(file: TaskFile) -> Iterator[str]:
    """Yields what liars may do under this plan, with what prevents it."""
    chosen = file.coordination.byzantine
    if chosen is None:
        return
    yield from _too_few(file.coordination.min_available_clients)
    yield from _steps(file)
    yield from _warm_up(file, chosen)
    yield from _unchecked(file, chosen)


def _too_few(members: int) -> Iterator[str]:
    if members < ENOUGH_MEMBERS - 1:
        yield gettext(
            "A round opens with %(members)s members, and where two disagree neither can prove that the other "
            "lies: liars go free. Raise min_available_clients to %(enough)s."
        ) % {"members": members, "enough": ENOUGH_MEMBERS}
    elif members < ENOUGH_MEMBERS:
        yield gettext(
            "A round opens with %(members)s members, who convict one liar; while one of the others is "
            "missing, it can stop rounds and cannot be banned. Raise min_available_clients to %(enough)s."
        ) % {"members": members, "enough": ENOUGH_MEMBERS}


def _steps(file: TaskFile) -> Iterator[str]:
    steps = file.training.steps or ADVISED_STEPS
    if steps < _FEW_STEPS:
        yield gettext(
            "A round has %(steps)s steps, and sends the whole model and all checks however few they are. "
            "Take %(advised)s."
        ) % {"steps": steps, "advised": ADVISED_STEPS}
    if steps > ADVISED_STEPS and exactness(file) != "required":
        yield gettext(
            "A round has %(steps)s steps. Honest results of other kinds of devices differ more with each "
            "step, by up to %(apart)s of their length after %(most)s, and smaller lies go unnoticed. Take "
            '%(advised)s steps, or training.exact = "required".'
        ) % {"steps": steps, "apart": f"{FARTHEST:g}", "most": MOST_STEPS, "advised": ADVISED_STEPS}


def _warm_up(file: TaskFile, chosen: ByzantineTable) -> Iterator[str]:
    optimizer, steps = file.model.optimizer, file.training.steps
    if chosen.fixed_radius or optimizer is None or optimizer.schedule is None or not steps:
        return
    first, plan = optimizer.learning_rate, optimizer.schedule
    if not (first and plan.warmup_target and plan.warmup_steps):
        return
    enough = math.ceil(math.log(max(1.0, plan.warmup_target / first)) / math.log(RADIUS_CHANGE))
    rounds = math.ceil(plan.warmup_steps / steps)
    if rounds < enough:
        yield gettext(
            "The learning rate grows %(times)s-fold within %(rounds)s rounds, and a measured radius follows "
            "by %(change)s a round: until then updates are cut to a part of their length. Warm up over "
            "%(enough)s rounds or more, or give radius as a number."
        ) % {
            "times": f"{plan.warmup_target / first:.3g}",
            "rounds": number(rounds),
            "change": f"{100 * (RADIUS_CHANGE - 1):.0f} %",
            "enough": number(enough),
        }


def _unchecked(file: TaskFile, chosen: ByzantineTable) -> Iterator[str]:
    if not chosen.validators:
        yield gettext(
            "With validators = 0 no work is done again: false work is bounded by the radius, and its sender "
            "is never banned. Take 1 at least."
        )
        if chosen.audits:
            yield gettext(
                "With validators = 0 no newcomer ever passes a check, so none gets a vote. Take audits = 0, "
                "or a validator."
            )
    if chosen.probation and not chosen.audits and not file.access.by_invitation:
        yield gettext("With audits = 0 a newcomer gets a vote for work that no one has checked. Take 17.")
