"""Reports the result of a group, with the number of members that are known to have it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Protocol

from backend.peer.mesh.certificate_collector import CertificateCollector
from backend.peer.session.progress import Teller
from backend.wire.mesh_messages import Group


class GroupNumbers(Protocol):
    """How a group ended: `exchange.GroupOutcome` is one."""

    @property
    def survivors(self) -> Sequence[int]: ...
    @property
    def fraction(self) -> float: ...
    @property
    def seconds(self) -> float: ...


class ResultReport:
    """Reports the result of `order` once, when all survivors signed it, or after the group's patience.

    The group's decision names survivors that may be lost before they receive it: only members that signed the
    new weights are known to have them.
    """

    def __init__(
        self, order: Group, outcome: GroupNumbers, signatures: CertificateCollector, reporter: Teller
    ) -> None:
        self._order, self._outcome = order, outcome
        self._signatures = signatures
        self._reporter = reporter
        self._is_told = False
        self._timer = asyncio.get_running_loop().call_later(order.patience, self.tell)

    def signed(self) -> None:
        """Takes that a signature may have arrived."""
        if self._signatures.holders >= len(self._outcome.survivors):
            self.tell()

    def tell(self) -> None:
        """Reports what is known now, if nothing was reported yet."""
        self._timer.cancel()
        if self._is_told:
            return
        self._is_told = True
        order, outcome, holders = self._order, self._outcome, self._signatures.holders
        sentence = (
            f"Round {order.round}: {holders} of {len(order.members)} have new weights in "
            f"{outcome.seconds:.2f} s, with {100 * outcome.fraction:.0f} % of what they trained on."
        )
        self._reporter.tell(
            "averaged",
            sentence,
            round=order.round,
            group=order.group,
            weights=self._signatures.weights,
            holders=holders,
            survivors=len(outcome.survivors),
            members=len(order.members),
            fraction=outcome.fraction,
            seconds=round(outcome.seconds, 3),
        )
