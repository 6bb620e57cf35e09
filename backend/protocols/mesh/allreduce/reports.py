"""What a member of a group reports of itself and of others. A part of allreduce.py."""

from __future__ import annotations

from backend.protocols.mesh.allreduce.leader import Leader
from backend.protocols.mesh.allreduce.standing import GroupState


class Reports:
    """What the member that stands so begins with, what it holds, and who keeps it waiting.

    It goes to the leader, which may be itself, and where all have to know it to all.
    """

    def __init__(self, own: GroupState, leader: Leader) -> None:
        self._own, self._leader = own, leader

    def stand(self) -> None:
        """What others have to know in any case."""
        own = self._own
        view = own.promised[0]
        leader = own.leader(view)
        if own.prepared:
            weight, commitments = own.arrived.weights[own.place], own.arrived.commitments[own.place]
            own.say(("begin",), own.others, own.words.begin(weight, commitments, own.key))
        if own.leading is None:
            # Before its answer, so that the leader knows whom to go on without when it plans.
            for place, reason in own.arrived.unfit.items():
                complaint = own.words.complain(place, "unfit", reason)
                own.say(("unfit", view, place), [leader], complaint)
        if own.step.is_settling():
            return
        if own.changing:
            own.say(("change", view), own.others, own.words.change(view, own.answer()))
        elif leader != own.place and not own.is_current():
            own.say(("answer", own.promised), [leader], own.words.holds(own.promised, own.answer()))

    def accept(self) -> None:
        """Says to the leader, once a step, that it holds all that this step wants."""
        own, ballot = self._own, self._own.plan.ballot
        if not own.is_current():
            return
        answer = own.accepted if own.has_accepted() else own.step.acceptable()
        if answer is None:
            return
        own.accepted = answer
        if own.leading is not None:
            own.leading.accepted[own.place] = answer.parts
            return
        own.say(("holds", ballot), [own.leader(ballot[0])], own.words.holds(ballot, answer))

    def complain(self) -> None:
        """Says to the leader who keeps it waiting."""
        own, ballot = self._own, self._own.plan.ballot
        if not own.is_current() or own.has_accepted():
            return
        leader = own.leader(ballot[0])
        for place in own.plan.alive:
            if place == own.place:
                continue
            fault = own.step.fault(place, own.gone(place), own.now - own.slow_at)
            if fault is None:
                continue
            if own.leading is not None:
                self._leader.complained(own.place, place, fault)
            else:
                complaint = own.words.complain(place, fault, f"Nothing comes from place {place}.")
                own.say(("complain", ballot, place, fault), [leader], complaint)
