"""A member of a group that averages, as a machine without I/O; allreduce.ts is its mirror in the browser.

It knows digests of means, not vectors: its host has the bytes (allreduce_events.py).
docs/decisions/0025-mesh.md has the protocol, 0026 why it is safe; both languages replay the conversations in
tests/vectors/allreduce.json.

What is to be said follows from the state alone: after every event the machine says to each member what that
was not told yet over its present link. So nothing is lost when a link comes back.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

from backend.protocols.allreduce_arrived import Arrived
from backend.protocols.allreduce_events import (
    Control,
    Effect,
    Event,
    Fail,
    Finish,
    Heard,
    Linked,
    Lost,
    MeanCame,
    PieceCame,
    Prepared,
    Reduced,
    Send,
    Silent,
    Unfit,
    Without,
)
from backend.protocols.allreduce_leader import Leadership
from backend.protocols.allreduce_links import LinkBook, Said
from backend.protocols.allreduce_plan import Answer, Ballot, Plan, fraction, gifts, planned
from backend.protocols.allreduce_step import Step
from backend.protocols.allreduce_words import Words
from backend.wire.mesh import Group
from backend.wire.mesh_fields import Fault
from backend.wire.peering import Ask, Begin, Change, Complain, Config, Decide, Give, GiveUp, Holds

# Each place may lead so often; then it is clear that no majority can talk.
LAPS = 3
# Of two members each could take its own values from the sum.
LEAST_MASKED = 3


class AllReduce:
    """The member at `place` of the group of `order`, which it got at `now`. Owned by its host alone."""

    def __init__(self, order: Group, place: int, now: float) -> None:
        """Raises ValueError where the order contradicts itself."""
        self.count, self.parts = len(order.members), len(order.bounds) - 1
        if self.parts != (1 if order.exchange == "full" else self.count) or not 0 <= place < self.count:
            raise ValueError("The group's bounds do not fit its members and its exchange.")
        masked = order.precision == "masked"
        if masked and (order.exchange, order.reducer) != ("butterfly", "mean"):
            raise ValueError("Masked pieces need the exchange butterfly and a plain mean.")
        self.order, self.place, self.over = order, place, False
        self._least = max(order.least, self.count // 2 + 1, LEAST_MASKED if masked else 0)
        if self.count < self._least:
            raise ValueError(f"The group has {self.count} members and needs {self._least}.")
        self._words = Words(order.round, order.group)
        self._now = now
        self._ends = now + order.seconds
        self._slow_at = now + order.seconds / 2
        self._others = [one for one in range(self.count) if one != place]
        self._links = LinkBook(self._others, order.patience / 2, now + order.patience)
        self._out: list[Effect] = []
        self._arrived = Arrived(order, place)
        self._step = Step(order, place, self._arrived, self._links)
        self._prepared, self._key = False, b""
        self._quit: set[int] = set()
        # Who led a view, and made way: it had not enough to lead. Forgotten when a link comes up.
        self._unable: set[int] = set()
        # Where it stands: what it promised, and what it accepted last, besides the step that it knows.
        self._promised: Ballot = (0, 1)
        self._accepted: Answer | None = None
        self._changing = False
        self._changes: dict[int, Change] = {}
        self._leading = Leadership((0, 1), now, planned=True) if place == 0 else None
        self._told_at_end: Decide | GiveUp | None = None

    # What the host calls.

    def happened(self, event: Event, now: float) -> list[Effect]:
        """What follows from this. An event that makes no sense changes nothing."""
        self._now = max(now, self._now)
        self._take(event)
        if not self.over:
            self._go_on()
        effects, self._out = self._out, []
        return effects

    def timer(self) -> float | None:
        """When `TimePassed` is due next, unless something happens before."""
        if self.over:
            return None
        patience = self.order.patience
        times = [self._ends + 2 * patience, self._slow_at, self._slow_at + patience, *self._links.deadlines()]
        if self._leading is not None and not self._leading.planned:
            times += [self._leading.since + patience, self._leading.since + 2 * patience]
        return min((time for time in times if time > self._now), default=None)

    # What comes.

    def _take(self, event: Event) -> None:
        match event:
            case Prepared() if not self._prepared and not self.over:
                self._prepare(event)
            case Heard(place, frame) if place in self._others:
                self._heard(place, frame)
            case PieceCame(place, part) if place in self._others and part < self.parts:
                self._arrived.piece_came(event)
            case MeanCame(place, part) if place in self._others and part < self.parts:
                self._arrived.keep(event, place)
            case Reduced(part) if part in self._arrived.reducing:
                del self._arrived.reducing[part]
                self._arrived.keep(event, self.place)
            case Unfit(place, reason) if place in self._others:
                self._arrived.refuse(place, reason)
            case Unfit(place, reason) if place == self.place and not self.over:
                self._give_up(reason)
            case Linked(place) if place in self._others:
                self._links.linked(place)
                self._unable.clear()
            case Lost(place) if place in self._others:
                self._links.lost(place, self._now)
            case Silent(place) if place in self._others:
                self._links.silent(place, self._now)
            case _:
                pass

    def _prepare(self, own: Prepared) -> None:
        reason = self._arrived.misfit(own)
        if reason:
            self._give_up(reason)
            return
        self._prepared, self._key = True, own.key
        self._arrived.weights[self.place] = own.weight
        self._arrived.commitments[self.place] = own.commitments

    def _heard(self, place: int, frame: Control) -> None:
        if isinstance(frame, Decide):
            if not self.over and self._fits(frame):
                self._decided(frame)
            return
        if isinstance(frame, GiveUp):
            self._quit.add(place)
            return
        if self.over:
            if self._told_at_end is not None:
                self._say(("end",), [place], self._told_at_end)
            return
        match frame:
            case Begin():
                self._arrived.begun(place, frame)
            case Complain() if self._leading is not None:
                self._complained(place, frame)
            case Holds():
                self._holds(place, frame)
            case Ask(view=view, step=step) if self._leader(view) == place and (view, step) > self._promised:
                self._follow((view, step))
            case Config(view=view) if self._leader(view) == place:
                self._configured(frame)
            case Give(view=view, step=step, part=part, places=places):
                if (view, step) == self._plan.ballot and part < self.parts and self._plan.parts[part]:
                    self._step.handed += [(part, one) for one in places if one in self._others]
            case Change(view=view, parts=parts, weights=weights) if view < LAPS * self.count:
                if len(parts) == self.parts and len(weights) == self.count:
                    self._changes[place] = frame
                    if self._leader(self._promised[0]) == place and view > self._promised[0]:
                        self._unable.add(place)
            case _:
                pass

    def _complained(self, by: int, frame: Complain) -> None:
        if self._leading is None or frame.place >= self.count or frame.place == by:
            return
        self._note(self._leading, by, frame.place, frame.fault)

    def _note(self, leading: Leadership, by: int, of: int, fault: Fault) -> None:
        if fault == "slow" and self._step.is_ring():
            # In a ring everybody waits for everybody: without it, it will show who is slow.
            leading.news = True
        else:
            leading.complained(by, of, fault)

    def _holds(self, place: int, frame: Holds) -> None:
        leading = self._leading
        if leading is None or leading.ballot != (frame.view, frame.step):
            return
        if len(frame.parts) != self.parts or len(frame.weights) != self.count:
            return
        if not leading.planned:
            leading.answers[place] = Answer(frame.held, tuple(frame.parts), tuple(frame.weights))
        elif frame.held == leading.ballot:
            leading.accepted[place] = tuple(frame.parts)

    def _configured(self, frame: Config) -> None:
        ballot, alive = (frame.view, frame.step), tuple(sorted(set(frame.alive)))
        if ballot < self._promised or ballot == self._plan.ballot or not self._is_plan(frame):
            return
        self._follow(ballot)
        self._adopt(Plan(ballot, alive, tuple(frame.owners), tuple(frame.parts), tuple(frame.weights)))

    def _is_plan(self, frame: Config) -> bool:
        return (
            len(frame.owners) == len(frame.parts) == self.parts
            and len(frame.weights) == self.count
            and set(frame.owners) <= set(frame.alive) <= set(range(self.count))
            and len(set(frame.alive)) >= self._least
        )

    # Views.

    def _leader(self, view: int) -> int:
        return view % self.count

    def _follow(self, ballot: Ballot) -> None:
        """Takes part in nothing below `ballot` any more."""
        if ballot[0] != self._promised[0]:
            self._leading = None
        self._promised, self._changing = ballot, False

    def _gone(self, place: int) -> bool:
        return place in self._quit or self._links.gone(place, self._now)

    def _reach(self) -> int:
        """How many can talk to this member, itself included."""
        return 1 + sum(not self._gone(place) for place in self._others)

    def _mind_leader(self) -> None:
        """Moves to another view if this one comes to nothing."""
        view = self._promised[0]
        leader = self._leader(view)
        moved = self._moved(view)
        if leader in moved or self.count - len(moved) < self._least:
            self._move(max(self._changes[place].view for place in moved))
        elif self._late() if leader == self.place else self._is_hopeless(leader):
            self._move(view + 1)

    def _is_hopeless(self, leader: int) -> bool:
        """Nothing is to be expected of it. An unfit leader is told so, and gives up if it is only broken."""
        return self._gone(leader) or (leader in self._arrived.unfit and self._now >= self._slow_at)

    def _moved(self, view: int) -> list[int]:
        """Who is there, but in a higher view."""
        changes = self._changes.items()
        return [place for place, change in changes if change.view > view and not self._gone(place)]

    def _late(self) -> bool:
        """A member that is not prepared in time should not lead: the others go on without it."""
        return not self._prepared and self._now >= self._slow_at

    def _move(self, view: int) -> None:
        """To the first view from `view` on whose leader is there; gives up where nobody is."""
        for candidate in range(view, view + self.count):
            leader = self._leader(candidate)
            able = (
                self._reach() >= self._least and not self._late()
                if leader == self.place
                else not self._gone(leader) and leader not in {*self._arrived.unfit, *self._unable}
            )
            if able and candidate < LAPS * self.count:
                self._follow((candidate, 0))
                self._changing = True
                if leader == self.place:
                    self._lead_view(candidate)
                return
        self._give_up(f"{self._reach()} of at least {self._least} members can be talked to.")

    def _lead_view(self, view: int) -> None:
        self._leading = Leadership((view, 0), self._now)
        for place, change in self._changes.items():
            self._promised_me(place, change)

    def _promised_me(self, place: int, change: Change) -> None:
        if (
            self._leading is not None
            and not self._leading.planned
            and (change.view, 0) == self._leading.ballot
        ):
            answer = Answer(change.held, tuple(change.parts), tuple(change.weights))
            self._leading.answers.setdefault(place, answer)

    # What follows.

    def _go_on(self) -> None:
        """Says and does all that the state asks for now."""
        if self._now >= self._ends + 2 * self.order.patience:
            self._give_up("The group's time is over.")
        while not self.over:
            before = (self._promised, self._plan, self._accepted)
            self._mind_leader()
            if not self.over:
                self._exchange()
            if not self.over and self._leading is not None:
                self._lead(self._leading)
            if before == (self._promised, self._plan, self._accepted):
                return

    def _say(self, what: Said, places: Iterable[int], frame: Control) -> None:
        fresh = self._links.untold(what, places)
        if fresh:
            self._out.append(Send(fresh, frame))

    # The exchange of one step.

    @property
    def _plan(self) -> Plan:
        return self._step.plan

    def _exchange(self) -> None:
        self._talk()
        if not self._prepared or self.place not in self._plan.alive:
            return
        self._out += self._step.work(self._promised)
        self._accept()
        self._complain()

    def _talk(self) -> None:
        """What others have to know in any case."""
        view, answer = self._promised[0], self._accepted or self._step.answer()
        if self._prepared:
            weight, commitments = self._arrived.weights[self.place], self._arrived.commitments[self.place]
            begin = self._words.begin(weight, commitments, self._key)
            self._say(("begin",), self._others, begin)
        if self._leading is None:
            # Before its answer, so that the leader knows whom to go on without when it plans.
            for place, reason in self._arrived.unfit.items():
                complaint = self._words.complain(place, "unfit", reason)
                self._say(("unfit", view, place), [self._leader(view)], complaint)
        if self._step.is_settling():
            return
        if self._changing:
            self._say(("change", view), self._others, self._words.change(view, answer))
        elif self._leader(view) != self.place and self._promised != self._plan.ballot:
            holds = self._words.holds(self._promised, answer)
            self._say(("answer", self._promised), [self._leader(view)], holds)

    def _accept(self) -> None:
        """Says to the leader, once a step, that it holds all that this step wants."""
        plan = self._plan
        if self._promised != plan.ballot:
            return
        if self._accepted is None or self._accepted.held != plan.ballot:
            whole = self._step.acceptable()
            if whole is None:
                return
            self._accepted = whole
        if self._leading is not None:
            self._leading.accepted[self.place] = self._accepted.parts
            return
        holds = self._words.holds(plan.ballot, self._accepted)
        self._say(("holds", plan.ballot), [self._leader(plan.ballot[0])], holds)

    # Complaints.

    def _complain(self) -> None:
        if self._promised != self._plan.ballot or (
            self._accepted is not None and self._accepted.held == self._plan.ballot
        ):
            return
        leader = self._leader(self._promised[0])
        for place in self._plan.alive:
            if place == self.place:
                continue
            fault = self._step.fault(place, self._gone(place), self._now - self._slow_at)
            if fault is None:
                continue
            if self._leading is not None:
                self._note(self._leading, self.place, place, fault)
            else:
                complaint = self._words.complain(place, fault, f"Nothing comes from place {place}.")
                self._say(("complain", self._plan.ballot, place, fault), [leader], complaint)

    # What only the leader does.

    def _lead(self, leading: Leadership) -> None:
        view = self._promised[0]
        for place, change in self._changes.items():
            self._promised_me(place, change)
        for place in self._arrived.unfit:
            leading.complained(self.place, place, "unfit")
        bad = {place for place in self._others if self._gone(place)} | {*self._moved(view)}
        if not leading.planned:
            self._gather(leading, [place for place in self._others if place not in bad])
            return
        self._say_plan(leading)
        agreed = leading.agreed(self._plan.alive)
        if agreed:
            self._decide()
        elif agreed is False or leading.news or bad & set(self._plan.alive):
            self._lead_again(leading)

    def _lead_again(self, leading: Leadership) -> None:
        """With the next step; or in a higher view, if somebody that is there went on to one."""
        moved = self._moved(leading.ballot[0])
        if moved:
            self._move(max(self._changes[place].view for place in moved))
            return
        leading.again(self._now)
        self._promised = leading.ballot

    def _gather(self, leading: Leadership, members: list[int]) -> None:
        """Waits for answers, and plans the step when they are there."""
        view, step = leading.ballot
        leading.answers[self.place] = self._accepted or self._step.answer()
        answers = {
            place: leading.answers[place] for place in (self.place, *members) if place in leading.answers
        }
        waiting = [place for place in members if place not in answers]
        over = self._now >= leading.since + self.order.patience * (2 if step else 1)
        if 1 + len(members) < self._least or (over and len(answers) < self._least):
            self._move(view + 1)
            return
        if step or len(answers) >= self._least:
            self._say(("ask", leading.ballot), waiting, self._words.ask(leading.ballot))
        if (waiting and not over) or len(answers) < self._least or self._step.is_settling():
            return
        plan, heeded = planned(leading.ballot, self.place, self._least, answers, leading.troubles)
        if plan is None or (not heeded and leading.passed_over):
            # Without slow members too few are left: perhaps another leader reaches more.
            self._move(view + 1)
        elif self.place not in plan.alive:
            self._give_up("The others have to go on without this member.")
        else:
            leading.planned, leading.news, leading.accepted = True, False, {}
            if not heeded:
                # Everybody is slow: that says nothing of anybody. Who still is, is complained of again.
                leading.troubles.slow.clear()
                leading.passed_over = True
            self._adopt(plan)
            leading.gifts = gifts(plan, answers, leading.troubles)
            self._step.handed = [
                (gift.part, gift.receiver) for gift in leading.gifts if gift.giver == self.place
            ]

    def _adopt(self, plan: Plan) -> None:
        gone = [place for place in self._plan.alive if place not in plan.alive and place != self.place]
        self._step.plan, self._step.handed = plan, []
        self._slow_at = self._now + max((self._ends - self._now) / 2, self.order.patience)
        for place in gone:
            self._links.forget(place)
            self._out.append(Without(place))

    def _say_plan(self, leading: Leadership) -> None:
        """The plan, and who has to hand on what."""
        plan = self._plan
        if plan.first:
            return
        self._say(("config", plan.ballot), self._others, self._words.config(plan))
        for gift in leading.gifts:
            if self._now >= self._slow_at + self.order.patience and gift.receiver not in leading.accepted:
                leading.complained(gift.receiver, gift.giver, "slow")
        by_giver: dict[tuple[int, int], list[int]] = {}
        for gift in leading.gifts:
            if gift.giver != self.place:
                by_giver.setdefault((gift.giver, gift.part), []).append(gift.receiver)
        for (giver, part), places in by_giver.items():
            give = self._words.give(plan.ballot, part, places)
            self._say(("give", plan.ballot, part), [giver], give)

    # How it ends.

    def _decide(self) -> None:
        """All alive hold the same: that is the result."""
        answer = self._accepted
        if answer is None:
            return
        contributors = [
            list(means[digest]) for means, digest in zip(self._arrived.means, answer.parts, strict=True)
        ]
        decide = self._words.decide(self._plan, answer, contributors)
        self._decided(decide)
        self._say(("end",), self._others, decide)

    def _fits(self, frame: Decide) -> bool:
        places = {place for of in (frame.survivors, *frame.contributors) for place in of}
        return (
            len(frame.parts) == len(frame.contributors) == self.parts
            and len(frame.weights) == self.count
            and all(place < self.count for place in places)
        )

    def _decided(self, frame: Decide) -> None:
        """Takes the result, if it holds all of it, and tells those who asked for another leader."""
        self.over, self._told_at_end = True, frame
        self._say(("end",), list(self._changes), frame)
        if not all(digest in means for digest, means in zip(frame.parts, self._arrived.means, strict=True)):
            self._out.append(Fail("The group went on without this member."))
            return
        bounds = self.order.bounds
        lengths = [end - start for start, end in pairwise(bounds)]
        share = fraction(lengths, frame.contributors, frame.weights)
        self._out.append(Finish(frame.parts, frame.contributors, frame.survivors, frame.weights, share))

    def _give_up(self, reason: str) -> None:
        self.over = True
        frame = self._words.give_up(self._promised[0], reason)
        self._told_at_end = frame
        self._say(("end",), self._others, frame)
        self._out.append(Fail(reason))
