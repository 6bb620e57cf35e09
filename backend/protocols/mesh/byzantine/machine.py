"""The machine of one member in one round of a Byzantine mesh: events in, effects out, no I/O.

After BTARD (Gorbunov et al. 2022). A round is done in turns: commit, made, reveal, check, verdict, each of
which ends when all active members said what is due. A doubted mean is made again by each. Where it is wrong,
somebody said nothing, or two things, all statements are exchanged (exchange.py), and the turn continues or is
done again without those at fault. It rests on honest members being more than half, and on their frames
arriving within half of `patience`; docs/decisions/0101-byzantine-rounds.md says why no two of them end with
different states then.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from backend.crypto.statements import Statement, TurnOfRound, coin_commitment
from backend.protocols.mesh.byzantine.exchange import StatementExchange
from backend.protocols.mesh.byzantine.next_state import next_state
from backend.protocols.mesh.byzantine.outcome import Decided, Outcome, Removal, Removed, outcome_of
from backend.protocols.mesh.byzantine.roles import basis_of, roles_of
from backend.protocols.mesh.byzantine.round_events import (
    AdoptState,
    BytesReceived,
    CheckMeans,
    FailRound,
    FinishRound,
    MakeMean,
    MeanMade,
    MeanRemade,
    MeansChecked,
    OuterStepped,
    RemakeMean,
    RemoveClient,
    RoundEffect,
    RoundEvent,
    SayToAll,
    SendBytes,
    StatementReceived,
    TakeOuterStep,
    TurnBegins,
    WorkJudged,
    WorkReady,
)
from backend.protocols.mesh.byzantine.state import AgreedState
from backend.protocols.mesh.byzantine.turn import Turn
from backend.protocols.mesh.byzantine.turn_log import PHASES, TurnLog, TurnPhase, numbered
from backend.wire.byzantine_bodies import (
    Body,
    CheckBody,
    CommitBody,
    MadeBody,
    RevealBody,
    VerdictBody,
    WorkFinding,
    encode_body,
)
from backend.wire.byzantine_messages import ByzantineTerms

# Returns a part of the coin, and the salt of its commitment, 32 random bytes each.
Toss = Callable[[], tuple[bytes, bytes]]


class ByzantineRound:
    """The round of task `task` (its `run` is hexadecimal) after `state`, for the seated member `client`.

    `attempt` is the round and group of the convener's order. `clients` are all in the mesh, with
    identities. `bounds` gives the limits of a number of parts of the vector, `toss` draws for each turn.
    Owned by its host, which has the keys: it signs what this member says, and checks what others said.
    """

    def __init__(
        self,
        task: str,
        run: str,
        terms: ByzantineTerms,
        state: AgreedState,
        attempt: tuple[int, int],
        client: str,
        clients: Mapping[str, bytes],
        bounds: Callable[[int], list[int]],
        now: float,
        toss: Toss,
    ) -> None:
        self._task, self._run, self._terms, self._state = task, run, terms, state
        self._attempt = attempt
        self._client, self._bounds, self._toss = client, bounds, toss
        known = state.membership.identities()
        taken = set(known.values())
        # Identities are public: a stranger may show a member's.
        strangers = {one: key for one, key in clients.items() if key not in taken and one not in known}
        self._clients = known | strangers
        self._now = now
        self._effects = list[RoundEffect]()
        self._removed = dict[str, Removal]()
        self._judgements = list[WorkFinding]()
        self._available = set[bytes]()
        self._turns = 0
        # With a result or without one this member still takes part in exchanges.
        self.over = False
        self.turn = self._next_turn()

    # What the host calls.

    def happened(self, event: RoundEvent, now: float) -> list[RoundEffect]:
        """Returns the effects of an event, and of the begin. One that makes no sense changes nothing."""
        self._notice_pause(now)
        self._now = max(now, self._now)
        self._take(event)
        self._proceed()
        effects, self._effects = self._effects, []
        return effects

    def timer(self) -> float | None:
        """Returns when `RoundTimePassed` is due; None if nothing changes with time."""
        if self.turn.exchange is not None:
            return self.turn.exchange.timer()
        return None if self.over else self.turn.due

    # Events.

    def _notice_pause(self, now: float) -> None:
        """Ends without a result if this process slept: what it did not hear in time may matter."""
        due = self.timer()
        if due is not None and now > due + self._terms.patience / 2 and not self.over:
            self._fail("This device slept during the round, or was too busy.")
            self.turn.exchange = None

    def _take(self, event: RoundEvent) -> None:
        turn = self.turn
        match event:
            case WorkReady(pieces) if turn.pieces is None:
                # Of an earlier turn there were more parts.
                if len(pieces) == (len(turn.roles.workers) if turn.works else 0):
                    turn.pieces = pieces
                    self._available.update(pieces)
            case WorkJudged(judgement):
                self._judgements.append(judgement)
            case StatementReceived():
                self._hear(event)
            case BytesReceived(digest):
                self._available.add(digest)
            case MeanMade(digest) if "made" in turn.asked and turn.mean is None:
                turn.mean = digest
                self._available.add(digest)
            case MeansChecked() if "checked" in turn.asked and turn.checked is None:
                turn.checked = event
            case MeanRemade() if turn.exchange is not None:
                turn.exchange.remade(event, turn.wrong(event))
            case MeanRemade() if not self.over:
                turn.remade(event)
            case OuterStepped() if "stepped" in turn.asked and turn.stepped is None:
                turn.stepped = event
            case _:
                pass

    def _hear(self, event: StatementReceived) -> None:
        turn, exchange = self.turn, self.turn.exchange
        statement = event.statement
        if turn.log.knows(statement):
            return
        if exchange is not None and not exchange.counts(statement, event.signers, self._now):
            # It may have been said after an exchange that this member has not ended yet.
            turn.early.add(statement)
            return
        client = turn.log.add(statement)
        if client is not None and exchange is not None:
            exchange.learned(statement, client, self._now)

    # The phases.

    def _next_turn(self) -> Turn:
        self._turns += 1
        roles = roles_of(self._state, self._terms.validators, self._removed)
        basis = basis_of(self._state, self._attempt, roles.active)
        of_round = TurnOfRound(self._task, self._run, self._state.round + 1, self._turns, basis)
        log = TurnLog(of_round, self._clients)
        due = self._now + self._terms.seconds
        turn = Turn(self._client, roles, log, self._state.radius, self._bounds, *self._toss(), due)
        if not roles.is_majority(len(roles.active)) or not roles.workers:
            self._fail("Too few members are left.")
        elif self._client not in roles.active:
            self._fail("The round continues without this member.")
        else:
            self._effects.append(TurnBegins(self._turns, len(roles.workers), turn.works))
        return turn

    def _proceed(self) -> None:
        """Says what is due and enters the next phases, until nothing changes any more."""
        while True:
            before = self.turn.progress()
            if self.turn.exchange is not None:
                self._go_on_exchanging()
            elif self._is_called():
                self._call()
            exchange = self.turn.exchange
            if not self.over and (exchange is None or exchange.may_speak(self._now)):
                self._speak()
                self._advance()
            if before == self.turn.progress() or (self.over and self.turn.exchange is None):
                return

    def _speak(self) -> None:
        """Says what this member has to say in its phase, if it is ready."""
        turn = self.turn
        if turn.phase in turn.said:
            return
        body: Body | None = None
        match turn.phase:
            case TurnPhase.COMMIT if turn.pieces is not None:
                commitment = coin_commitment(self._client, turn.coin, turn.salt)
                body = CommitBody(turn.pieces, commitment, self._judgements)
            case TurnPhase.MADE:
                body = self._made()
            case TurnPhase.REVEAL:
                body = RevealBody(turn.coin, turn.salt)
            case TurnPhase.CHECK:
                body = self._check()
            case TurnPhase.VERDICT:
                body = self._verdict()
            case _:
                pass
        if body is not None:
            self._say(turn.phase, body)

    def _made(self) -> MadeBody | None:
        turn = self.turn
        if turn.pieces is None or not turn.works:
            return MadeBody(b"", turn.seen_newcomers(self._state, self._clients))
        if "sent" not in turn.asked:
            turn.asked.add("sent")
            for owner, one in zip(turn.keepers(), turn.pieces, strict=True):
                if owner != self._client:
                    self._effects.append(SendBytes(one, (owner,)))
        if "made" not in turn.asked:
            needed = turn.pieces_of(turn.part)
            self._ask("made", needed, MakeMean(turn.part, needed, turn.part_radius(turn.part)))
        if turn.mean is None:
            return None
        self._effects.append(SendBytes(turn.mean, turn.others()))
        return MadeBody(turn.mean, turn.seen_newcomers(self._state, self._clients))

    def _check(self) -> CheckBody | None:
        turn = self.turn
        if not turn.works:
            return CheckBody([], [])
        if "checked" not in turn.asked:
            means = turn.means()
            self._ask("checked", means, CheckMeans(turn.tossed(), means, self._state.radius))
        return None if turn.checked is None else CheckBody(turn.checked.products, turn.checked.lengths)

    def _verdict(self) -> VerdictBody | None:
        """Signs the state that follows; none while a mean is doubted, or others agreed on another one."""
        turn = self.turn
        if "stepped" not in turn.asked:
            if doubted := turn.doubted(self._terms):
                self._remake(doubted)
                return None
            means = turn.means()
            # The first round of a measured radius only measures it.
            self._ask("stepped", means, TakeOuterStep(means if self._state.radius else ()))
        if turn.stepped is None:
            return None
        weights, slots = turn.stepped.weights, turn.stepped.slots
        turn.next = next_state(
            self._state, self._terms, turn.statements, self._removed, turn.sizes, weights, slots
        )
        digest = turn.next.digest()
        return VerdictBody(digest) if turn.majority() in (None, digest) else None

    def _remake(self, parts: list[int]) -> None:
        """Shows its own pieces of doubted parts to all, and makes their means again of everybody's."""
        turn = self.turn
        for part in parts:
            if turn.pieces and f"shown {part}" not in turn.asked:
                turn.asked.add(f"shown {part}")
                self._effects.append(SendBytes(turn.pieces[part], turn.others()))
            self._ask(f"remade {part}", turn.pieces_of(part), self._mean_again(part))

    def _mean_again(self, part: int) -> RemakeMean:
        turn = self.turn
        return RemakeMean(part, turn.pieces_of(part), turn.part_radius(part), turn.tossed())

    def _ask(self, what: str, needed: tuple[bytes, ...], effect: RoundEffect) -> None:
        """Asks the host once, as soon as it has all bytes."""
        if what not in self.turn.asked and self._available.issuperset(needed):
            self.turn.asked.add(what)
            self._effects.append(effect)

    def _advance(self) -> None:
        """Enters the next phase once all said what is due in this one; decides in the last."""
        turn = self.turn
        if turn.phase is not TurnPhase.VERDICT and turn.statements.is_complete(turn.phase):
            turn.phase = PHASES[PHASES.index(turn.phase) + 1]
            turn.due = self._now + 2 * self._terms.patience
        elif turn.exchange is None:
            if turn.phase is TurnPhase.VERDICT:
                self._decide()
            if not self.over and self._now >= turn.due and turn.exchange is None:
                self._call()

    def _decide(self) -> None:
        """All active signed the same state; or most did, and for the patience nobody signed another.

        Abraham et al. 2020, Sync HotStuff: after this time others know of this majority, too.
        """
        turn, patience = self.turn, self._terms.patience
        states, agreed = turn.statements.states(), turn.majority()
        if len(states) > 1 or (turn.next is None and turn.is_wrong()):
            self._call()
        elif agreed is not None:
            turn.majority_at = self._now if turn.majority_at is None else turn.majority_at
            if states[agreed] == len(turn.roles.active) or self._now >= turn.majority_at + patience:
                self._end(agreed)
            else:
                turn.due = max(turn.due, turn.majority_at + patience)

    # Exchanges.

    def _is_called(self) -> bool:
        """Whether an active member calls for an exchange.

        While others may still work nobody has lacked anything yet, whatever is said.
        """
        turn = self.turn
        called = turn.log.speakers(numbered("call", turn.exchanges + 1))
        early = turn.phase is TurnPhase.COMMIT and self._now < turn.due
        return bool(called) and not early and not called.isdisjoint(turn.roles.active)

    def _call(self) -> None:
        """Begins an exchange of all statements, or joins one."""
        turn = self.turn
        turn.exchanges += 1
        turn.exchange = StatementExchange(
            turn.statements, turn.exchanges, self._client, self._now, self._terms.patience, turn.deferred
        )
        doubts = turn.phase is TurnPhase.VERDICT and turn.next is None
        lacks = [] if self.over else turn.lacks(self._available)
        self._say(*turn.exchange.call(turn.phase, lacks, turn.doubted(self._terms) if doubts else []))

    def _go_on_exchanging(self) -> None:
        turn, exchange = self.turn, self.turn.exchange
        if exchange is None:
            return
        exchange.proceed(self._now, self._available)
        for phase, body in exchange.to_say():
            self._say(phase, body)
        self._effects += map(self._mean_again, exchange.to_remake())
        self._effects += exchange.flush()
        if exchange.is_over(self._now):
            turn.exchange = None
            excused, settled, deferred = turn.excused, turn.settled, turn.deferred
            self._apply(outcome_of(turn.statements, turn.exchanges, excused, settled, deferred))

    def _apply(self, outcome: Outcome) -> None:
        if self.over:
            return
        match outcome:
            case Decided(state):
                self._end(state)
            case Removed(why):
                for client, reason in why.items():
                    evidence = self.turn.statements.evidence(client, reason)
                    self._effects.append(RemoveClient(client, reason, evidence, self.turn.turn))
                self._removed |= why
                self.turn = self._next_turn()
            case _:
                self.turn.excused |= outcome.excused
                self.turn.settled |= outcome.settled
                self.turn.deferred |= outcome.deferred
                self.turn.due = self._now + 2 * self._terms.patience
                self.turn.hear_early()

    # The end, and what is said.

    def _end(self, digest: bytes) -> None:
        self.over, state = True, self.turn.next
        known = state is not None and state.digest() == digest
        self._effects.append(FinishRound(state) if state is not None and known else AdoptState(digest))

    def _fail(self, reason: str) -> None:
        self.over = True
        self._effects.append(FailRound(reason))

    def _say(self, phase: str, body: Body) -> None:
        turn = self.turn
        statement = Statement(self._clients[self._client], phase, turn.follows(phase), encode_body(body))
        turn.last = statement.digest(turn.turn)
        turn.said.add(phase)
        turn.log.add(statement)
        self._effects.append(SayToAll(statement, turn.turn))
