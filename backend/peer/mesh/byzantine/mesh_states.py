"""The states that a peer of a Byzantine mesh knows: the newest with its proof, and the work of rounds."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import msgspec
from msgspec import Struct

from backend.peer.data.shared_files import write_whole
from backend.peer.mesh.byzantine.contents import ROUNDS_KEPT
from backend.protocols.mesh.byzantine.adoption import told_state
from backend.protocols.mesh.byzantine.first_state import rules_digest
from backend.protocols.mesh.byzantine.state import AgreedState
from backend.wire.byzantine_bodies import CheckBody
from backend.wire.byzantine_messages import ByzantineRules, TellState


@dataclass(frozen=True)
class RoundWork:
    """The work of one round from the state `base`: by client, the SHA-256 of its pieces.

    Part k belonged to `workers[k]`; `means` are the SHA-256 of all means, `checks` what each worker said of
    them, and `coin` what was tossed after them.
    """

    base: AgreedState
    pieces: Mapping[str, tuple[bytes, ...]]
    workers: tuple[str, ...]
    means: tuple[bytes, ...]
    checks: Mapping[str, CheckBody]
    coin: bytes

    def keepers(self, client: str) -> list[str]:
        """Returns who was sent each piece of a client: the part's owner, of its own part the next worker.

        A newcomer keeps all of them itself.
        """
        if client not in self.workers:
            return [client] * len(self.pieces[client])
        own = self.workers.index(client)
        keepers = list(self.workers)
        keepers[own] = keepers[(own + 1) % len(keepers)]
        return keepers


class StoredState(Struct, frozen=True):
    """What a file has: the frame that tells the newest state, and the contents that it names."""

    proof: TellState
    weights: bytes
    slots: bytes

    @classmethod
    def read(cls, path: Path) -> StoredState:
        """Returns what the file has. Raises OSError, and DecodeError for a damaged one."""
        return msgspec.msgpack.decode(path.read_bytes(), type=cls)


class MeshStates:
    """Owns what one peer knows of the states of a task's mesh, whose members share `rules`.

    The newest one is written to a file of `folder`, by the task's full `address`: bans and seats survive a
    restart of all peers. Content is little-endian.
    """

    def __init__(self, rules: ByzantineRules, folder: Path, address: str) -> None:
        self.rules = rules
        self.digest = rules_digest(rules)
        self.newest: AgreedState | None = None
        self.proof: TellState | None = None
        self.slots = b""
        self._works: dict[int, RoundWork] = {}
        name = f"{hashlib.sha256(address.encode()).hexdigest()[:32]}.byzantine"
        self._path = folder / name

    def take(self, state: AgreedState, proof: TellState, slots: bytes, work: RoundWork | None = None) -> None:
        """Takes the state after a round, the momentum that it names, and the `work` of that round."""
        self.newest, self.proof, self.slots = state, proof, slots
        if work is not None:
            self._works[state.round] = work
        for number in [one for one in self._works if one <= state.round - ROUNDS_KEPT]:
            del self._works[number]

    def work_of(self, number: int) -> RoundWork | None:
        """Returns the work of a round; None where this peer did not see it."""
        return self._works.get(number)

    def write(self, weights: bytes) -> None:
        """Stores the newest state with its weights. A failure, such as a full disk, is ignored."""
        if self.proof is not None:
            with suppress(OSError):
                stored = StoredState(self.proof, weights, self.slots)
                write_whole(self._path, msgspec.msgpack.encode(stored))

    def read(self) -> bytes | None:
        """Takes the stored state if it has these rules and is intact; returns its weights, else None."""
        with suppress(OSError, msgspec.DecodeError):
            stored = StoredState.read(self._path)
            state = told_state(stored.proof)
            if state is None or state.rules != self.digest:
                return None
            whole = (hashlib.sha256(stored.weights).digest(), hashlib.sha256(stored.slots).digest())
            if whole == (state.weights, state.slots):
                self.take(state, stored.proof, stored.slots)
                return stored.weights
        return None


# The answer of a peer that knows no newer state.
NO_STATE = TellState(state=b"", attempt=(0, 0), turn=0, active=[], verdicts=[])
