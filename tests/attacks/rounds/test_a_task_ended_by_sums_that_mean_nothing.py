"""One participant sends a masked update with a negative weight, so that no sum of its rounds can be used.

Nobody can tell whose update it was. Each such round used up a version, until the task was finished untrained.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from backend.peer.rounds.masking_secrets import RoundSecrets, UnmaskedUpdate
from tests.support.attacks.simulated_rounds import play

CLIENTS, LIAR, VERSIONS = 5, 3, 2
# A failed round, and the version that is made again for the next one.
LIES_UNTIL = 8


class WeighsLess(RoundSecrets):
    """Subtracts more examples than all others can have, in its first rounds."""

    def mask(self, trained: UnmaskedUpdate) -> memoryview:
        """See RoundSecrets."""
        words = np.frombuffer(super().mask(trained), "<u4").copy()
        if self.terms.round <= LIES_UNTIL:
            # Modulo 2**32; the weights follow the parameters.
            words[self.terms.parameters :][:1] -= np.uint32(1 << 30)
        return memoryview(words.tobytes())


def test_rounds_without_a_sum_use_up_no_version_of_the_task(tmp_path: Path) -> None:
    everybody = {"min_available_clients": CLIENTS, "quorum": CLIENTS}
    rounds = play(tmp_path, CLIENTS, {LIAR: WeighsLess}, rounds=99, task_rounds=VERSIONS, **everybody)
    failed, made = rounds[:LIES_UNTIL], rounds[LIES_UNTIL:]
    assert [(record.outcome, record.accepted) for record in failed] == [
        ("abandoned", CLIENTS),
        ("version", 0),
    ] * (LIES_UNTIL // 2)
    assert [(record.outcome, record.accepted) for record in made] == [("version", CLIENTS)] * VERSIONS


def test_a_restarted_server_knows_which_versions_repeat_another(tmp_path: Path) -> None:
    everybody = {"min_available_clients": CLIENTS, "quorum": CLIENTS}
    rounds = play(
        tmp_path, CLIENTS, {LIAR: WeighsLess}, rounds=99, task_rounds=VERSIONS, restarts=1, **everybody
    )
    assert sum(record.outcome == "version" and record.accepted > 0 for record in rounds) == VERSIONS
