"""What a member of a group does while it leads a view. A part of allreduce.py.

It gathers answers, plans a step of them, says who is in it and who hands on what, and decides when all hold
the same.
"""

from __future__ import annotations

from backend.protocols.mesh.allreduce.ending import Ending
from backend.protocols.mesh.allreduce.leadership import Leadership
from backend.protocols.mesh.allreduce.plan import GroupPlan, MemberAnswer, gifts, planned
from backend.protocols.mesh.allreduce.standing import GroupState
from backend.protocols.mesh.allreduce.views import Views
from backend.wire.mesh_fields import Fault
from backend.wire.peer_messages import Holds


class Leader:
    """The member that stands so; nothing happens while it has no leadership."""

    def __init__(self, own: GroupState, ending: Ending, views: Views) -> None:
        self._own, self._ending, self._views = own, ending, views

    # What is heard.

    def complained(self, by: int, of: int, fault: Fault) -> None:
        """Something is wrong between two members, or with the second; this one may be the first itself."""
        leading = self._own.leading
        if leading is None:
            return
        if fault == "slow" and self._own.step.is_ring():
            # In a ring everybody waits for everybody: without it, it will show who is slow.
            leading.news = True
        else:
            leading.complained(by, of, fault)

    def answered(self, place: int, frame: Holds) -> None:
        """A member says what it holds: all of the step that is planned, or what another is planned from."""
        leading = self._own.leading
        if leading is None or leading.ballot != (frame.view, frame.step) or not self._own.is_whole(frame):
            return
        if not leading.planned:
            leading.answers[place] = MemberAnswer(frame.held, tuple(frame.parts), tuple(frame.weights))
        elif frame.held == leading.ballot:
            leading.accepted[place] = tuple(frame.parts)

    # What follows.

    def lead(self) -> None:
        """Does all that the leadership asks for now."""
        own, leading = self._own, self._own.leading
        if leading is None:
            return
        leading.count(own.changes)
        for place in own.arrived.unfit:
            leading.complained(own.place, place, "unfit")
        bad = {*self._views.moved(), *(place for place in own.others if own.gone(place))}
        if not leading.planned:
            self._gather(leading, [place for place in own.others if place not in bad])
            return
        self._say_plan(leading)
        agreed = leading.agreed(own.plan.alive)
        if agreed:
            self._ending.decide()
        elif agreed is False or leading.news or bad & set(own.plan.alive):
            self._lead_again(leading)

    def _lead_again(self, leading: Leadership) -> None:
        """With the next step; or in a higher view, if somebody that is there went on to one."""
        moved = self._views.moved()
        if moved:
            self._views.join(moved)
            return
        leading.again(self._own.now)
        self._own.promised = leading.ballot

    def _gather(self, leading: Leadership, members: list[int]) -> None:
        """Waits for answers, and plans the step when they are there."""
        own = self._own
        view, step = leading.ballot
        leading.answers[own.place] = own.answer()
        answers = {
            place: leading.answers[place] for place in (own.place, *members) if place in leading.answers
        }
        waiting = [place for place in members if place not in answers]
        over = own.now >= leading.since + own.order.patience * (2 if step else 1)
        enough = len(answers) >= own.least
        if 1 + len(members) < own.least or (over and not enough):
            self._views.move(view + 1)
            return
        if step or enough:
            own.say(("ask", leading.ballot), waiting, own.words.ask(leading.ballot))
        if (not waiting or over) and enough and not own.step.is_settling():
            self._plan(leading, answers)

    def _plan(self, leading: Leadership, answers: dict[int, MemberAnswer]) -> None:
        own = self._own
        plan, heeded = planned(leading.ballot, own.place, own.least, answers, leading.troubles)
        if plan is None or (not heeded and leading.passed_over):
            # Without slow members too few are left: perhaps another leader reaches more.
            self._views.move(leading.ballot[0] + 1)
        elif own.place not in plan.alive:
            self._ending.give_up("The others have to go on without this member.")
        else:
            if not heeded:
                # Everybody is slow: that says nothing of anybody. Who still is, is complained of again.
                leading.troubles.slow.clear()
                leading.passed_over = True
            self._begin(leading, plan, answers)

    def _begin(self, leading: Leadership, plan: GroupPlan, answers: dict[int, MemberAnswer]) -> None:
        own = self._own
        own.adopt(plan)
        leading.begin(gifts(plan, answers, leading.troubles))
        own.step.handed = [(gift.part, gift.receiver) for gift in leading.gifts if gift.giver == own.place]

    def _say_plan(self, leading: Leadership) -> None:
        """The plan, and who has to hand on what."""
        own, plan = self._own, self._own.plan
        if plan.first:
            return
        own.say(("config", plan.ballot), own.others, own.words.config(plan))
        for gift in leading.gifts:
            if own.now >= own.slow_at + own.order.patience and gift.receiver not in leading.accepted:
                leading.complained(gift.receiver, gift.giver, "slow")
        by_giver: dict[tuple[int, int], list[int]] = {}
        for gift in leading.gifts:
            if gift.giver != own.place:
                by_giver.setdefault((gift.giver, gift.part), []).append(gift.receiver)
        for (giver, part), places in by_giver.items():
            own.say(("give", plan.ballot, part), [giver], own.words.give(plan.ballot, part, places))
