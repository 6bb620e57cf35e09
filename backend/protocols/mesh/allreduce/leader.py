"""Leads a group: selects the leader, which gathers answers, plans steps and sees when all agree.

A view is the term of one leader: place view mod n. `Views` follows a leader, and moves to the next view when
one fails; `Leader` leads one view. The twin is protocol/allreduce/leader.ts.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, auto

from backend.protocols.mesh.allreduce.plan import (
    FIRST,
    Ballot,
    Complaints,
    GroupPlan,
    Handover,
    MemberAnswer,
    make_plan,
    plan_handovers,
)
from backend.protocols.mesh.allreduce.step import GroupStep
from backend.wire.mesh_fields import Fault
from backend.wire.peer_messages import Ask, Change, Config, Give, Holds

# Each place may lead so often; then no majority can talk.
MAX_TERMS = 3


class AnswerVerdict(Enum):
    """What a leader concludes after an event."""

    WAIT = auto()
    # All members of the plan accepted the same.
    DECIDED = auto()
    # The step fails: another one, of the members that remain.
    NEXT_STEP = auto()
    # This view fails: another leader may reach more members.
    NEXT_VIEW = auto()
    # The others have to finish without the leader.
    LEFT_OUT = auto()


class Leader:
    """Leads the view of `ballot`: gathers answers, plans the step, and waits until all accepted it.

    `planned` is which of these it waits for, since the time `since`. Owned by `Views`.
    """

    def __init__(self, step: GroupStep, least: int, ballot: Ballot, *, planned: bool = False) -> None:
        self._step, self._links, self._least = step, step.links, least
        self.ballot, self.planned, self.since = ballot, planned, step.links.now
        # Answers to this step's `ask` (or to this view, by `change`), and digests of those who accepted it.
        self._answers: dict[int, MemberAnswer] = {}
        self._accepted: dict[int, tuple[bytes, ...]] = {}
        self._handovers: list[Handover] = []
        self._complaints = Complaints()
        # A complaint that this step's plan does not know.
        self._has_news = False
        # Slow members were kept once, because too few others remained.
        self._kept_slow = False

    def add_complaint(self, by: int, of: int, fault: Fault) -> None:
        """Something is wrong between two members, or with the second."""
        # In a ring every member waits for all: the butterfly of the next step shows who is slow.
        if (fault == "slow" and self._step.is_ring()) or self._complaints.add(by, of, fault):
            self._has_news = True

    def add_answer(self, place: int, frame: Holds) -> None:
        """A member says what it has: all of the planned step, or what the next one is planned from."""
        if self.ballot != (frame.view, frame.step) or not self._step.is_complete(frame):
            return
        if not self.planned:
            self._answers[place] = MemberAnswer(frame.held, tuple(frame.parts), tuple(frame.weights))
        elif frame.held == self.ballot:
            self._accepted[place] = tuple(frame.parts)

    def add_own_acceptance(self, answer: MemberAnswer) -> None:
        """The leader itself accepted the step."""
        self._accepted[self._step.place] = answer.parts

    def lead(self, changes: Mapping[int, Change], ahead: list[int]) -> AnswerVerdict:
        """Sends the frames that are due. `changes` are frames of members; those `ahead` left this view."""
        step = self._step
        self._count_changes(changes)
        for place in step.received.unfit:
            self.add_complaint(step.place, place, "unfit")
        excluded = {*ahead, *(place for place in self._links.others if self._links.is_lost(place))}
        if not self.planned:
            return self._gather([place for place in self._links.others if place not in excluded])
        self._send_plan()
        alive = step.plan.alive
        everyone = self._accepted.keys() >= set(alive)
        if everyone and len({self._accepted[place] for place in alive}) == 1:
            return AnswerVerdict.DECIDED
        return (
            AnswerVerdict.NEXT_STEP
            if everyone or self._has_news or excluded & set(alive)
            else AnswerVerdict.WAIT
        )

    def begin_next_step(self) -> None:
        """The next step begins with new answers of all."""
        self.ballot = (self.ballot[0], self.ballot[1] + 1)
        self.since, self.planned, self._has_news = self._links.now, False, False
        self._answers, self._accepted = {}, {}

    def _count_changes(self, changes: Mapping[int, Change]) -> None:
        """A member that asked for this view has answered its first question."""
        for place, change in changes.items():
            if not self.planned and (change.view, 0) == self.ballot:
                answer = MemberAnswer(change.held, tuple(change.parts), tuple(change.weights))
                self._answers.setdefault(place, answer)

    def _gather(self, members: list[int]) -> AnswerVerdict:
        """Waits for the answers of `members`, and plans the step when they have arrived."""
        step, least = self._step, self._least
        self._answers[step.place] = step.answer()
        answers = {place: self._answers[place] for place in (step.place, *members) if place in self._answers}
        missing = [place for place in members if place not in answers]
        number = self.ballot[1]
        is_over = self._links.now >= self.since + step.order.patience * (2 if number else 1)
        enough = len(answers) >= least
        if 1 + len(members) < least or (is_over and not enough):
            return AnswerVerdict.NEXT_VIEW
        if number or enough:
            self._links.send(("ask", self.ballot), missing, Ask(*step.header, *self.ballot))
        if (not missing or is_over) and enough and not step.is_settling():
            return self._plan(answers)
        return AnswerVerdict.WAIT

    def _plan(self, answers: dict[int, MemberAnswer]) -> AnswerVerdict:
        step, complaints = self._step, self._complaints
        plan, without_slow = make_plan(self.ballot, step.place, self._least, answers, complaints)
        if plan is None or (not without_slow and self._kept_slow):
            return AnswerVerdict.NEXT_VIEW
        if step.place not in plan.alive:
            return AnswerVerdict.LEFT_OUT
        if not without_slow:
            # If all are slow, no member is at fault; complaints of those that stay slow come again.
            complaints.slow.clear()
            self._kept_slow = True
        step.adopt(plan)
        self.planned, self._has_news, self._accepted = True, False, {}
        self._handovers = plan_handovers(plan, answers, complaints)
        own = [handover for handover in self._handovers if handover.sender == step.place]
        step.handovers = [(handover.part, handover.receiver) for handover in own]
        return AnswerVerdict.WAIT

    def _send_plan(self) -> None:
        """Sends the plan to all, and who has to send which mean to those."""
        step, plan = self._step, self._step.plan
        if plan.first:
            return
        alive, owners = list(plan.alive), list(plan.owners)
        config = Config(*step.header, *plan.ballot, alive, owners, list(plan.parts), list(plan.weights))
        self._links.send(("config", plan.ballot), self._links.others, config)
        receivers: dict[tuple[int, int], list[int]] = {}
        for handover in self._handovers:
            sender, receiver = handover.sender, handover.receiver
            if self._links.now >= step.slow_at + step.order.patience and receiver not in self._accepted:
                self.add_complaint(receiver, sender, "slow")
            if sender != step.place:
                receivers.setdefault((sender, handover.part), []).append(receiver)
        for (sender, part), places in receivers.items():
            give = Give(*step.header, *plan.ballot, part, places)
            self._links.send(("give", plan.ballot, part), [sender], give)


class Views:
    """The leader and the step that a member follows.

    It takes part in nothing below the ballot `promised`. It is `changing` from when it enters a view by
    itself until the view's leader asks it; `changes` are the others' latest frames. `leader` is set while
    this member leads; `failure`, a reason for people, when it finds no leader. Owned by the machine.
    """

    def __init__(self, step: GroupStep, least: int) -> None:
        self._step, self._links, self._least = step, step.links, least
        self.promised = FIRST
        self.changing = False
        self.changes: dict[int, Change] = {}
        self.leader = Leader(step, least, FIRST, planned=True) if step.place == 0 else None
        self.failure: str | None = None
        # Leaders that left their view: they reach too few members. Forgotten when a link comes up.
        self._unable: set[int] = set()

    def leader_of(self, view: int) -> int:
        """Returns the place that leads this view."""
        return view % self._step.count

    def is_current(self) -> bool:
        """Whether it promised no step beyond the one that it follows."""
        return self.promised == self._step.plan.ballot

    # Frames and links.

    def link_up(self, place: int) -> None:
        """A link is up: leaders that reached too few members may reach enough now."""
        self._links.connect(place)
        self._unable.clear()

    def add_ask(self, place: int, frame: Ask) -> None:
        """Takes a leader's request for answers, from which it plans another step."""
        ballot = (frame.view, frame.step)
        if self.leader_of(frame.view) == place and ballot > self.promised:
            self._promise(ballot)

    def add_config(self, place: int, frame: Config) -> None:
        """Takes a leader's plan of a step."""
        step, ballot = self._step, (frame.view, frame.step)
        if self.leader_of(frame.view) != place or ballot < self.promised or ballot == step.plan.ballot:
            return
        if self._is_plan(frame):
            alive, owners = tuple(sorted(set(frame.alive))), tuple(frame.owners)
            self._promise(ballot)
            step.adopt(GroupPlan(ballot, alive, owners, tuple(frame.parts), tuple(frame.weights)))

    def _is_plan(self, frame: Config) -> bool:
        step = self._step
        return (
            step.is_complete(frame)
            and len(frame.owners) == step.parts
            and set(frame.owners) <= set(frame.alive) <= set(range(step.count))
            and len(set(frame.alive)) >= self._least
        )

    def add_change(self, place: int, frame: Change) -> None:
        """Takes a member's request for another view."""
        view = self.promised[0]
        if frame.view < MAX_TERMS * self._step.count and self._step.is_complete(frame):
            self.changes[place] = frame
            if self.leader_of(view) == place and frame.view > view:
                self._unable.add(place)

    # Moves to another view.

    def check_leader(self) -> None:
        """Moves to another view if this one fails."""
        view, own = self.promised[0], self._step.place
        leader, ahead = self.leader_of(view), self._members_ahead()
        if leader in ahead or self._step.count - len(ahead) < self._least:
            self._join(ahead)
        elif self._is_unprepared() if leader == own else self._is_failed(leader):
            self._enter(view + 1)

    def lead(self) -> bool:
        """Does what a leader has to do now; returns whether the result is decided."""
        if self.leader is None:
            return False
        ahead = self._members_ahead()
        match self.leader.lead(self.changes, ahead):
            case AnswerVerdict.DECIDED:
                return True
            case AnswerVerdict.NEXT_STEP if ahead:
                self._join(ahead)
            case AnswerVerdict.NEXT_STEP:
                self.leader.begin_next_step()
                self.promised = self.leader.ballot
            case AnswerVerdict.NEXT_VIEW:
                self._enter(self.promised[0] + 1)
            case AnswerVerdict.LEFT_OUT:
                self.failure = "The others must continue without this member."
            case AnswerVerdict.WAIT:
                pass
        return False

    def _members_ahead(self) -> list[int]:
        """The members that can be reached, but are in a higher view."""
        view = self.promised[0]
        changes = self.changes.items()
        return [place for place, change in changes if change.view > view and not self._links.is_lost(place)]

    def _join(self, ahead: list[int]) -> None:
        self._enter(max(self.changes[place].view for place in ahead))

    def _enter(self, view: int) -> None:
        """Enters the first view from `view` on whose leader can lead; fails if there is none."""
        count = self._step.count
        for candidate in range(view, min(view + count, MAX_TERMS * count)):
            leader = self.leader_of(candidate)
            if self._can_lead(leader):
                self._promise((candidate, 0))
                self.changing = True
                if leader == self._step.place:
                    self.leader = Leader(self._step, self._least, (candidate, 0))
                return
        reachable = self._links.reachable()
        self.failure = f"{reachable} of at least {self._least} members can be reached."

    def _promise(self, ballot: Ballot) -> None:
        if ballot[0] != self.promised[0]:
            self.leader = None
        self.promised, self.changing = ballot, False

    def _can_lead(self, place: int) -> bool:
        if place == self._step.place:
            return self._links.reachable() >= self._least and not self._is_unprepared()
        return not (self._links.is_lost(place) or place in self._step.received.unfit or place in self._unable)

    def _is_failed(self, leader: int) -> bool:
        """An unfit leader learns of it by complaints first, and gives up if it is only broken."""
        is_unfit = leader in self._step.received.unfit and self._step.is_late()
        return self._links.is_lost(leader) or is_unfit

    def _is_unprepared(self) -> bool:
        """A member that is not prepared in time must not lead: the others finish without it."""
        return not self._step.is_prepared() and self._step.is_late()
