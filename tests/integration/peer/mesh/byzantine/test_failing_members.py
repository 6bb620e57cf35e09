"""Members that fail in a named phase of a round come back, and the others go on with the same bits."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from tests.support.peer.byzantine_company import ByzantineCompany, averaged, same_bits
from tests.support.timeouts import LONG

pytestmark = [pytest.mark.tensorflow, pytest.mark.long]

ENDLESS = 100_000


def failing_at(fault: Path) -> tuple[str, str]:
    """Returns the runner of a peer that fails where the file `fault` says."""
    return "tests.support.peer.failing_peer", str(fault)


def test_a_peer_that_is_killed_in_a_round_and_started_again_at_once_takes_part_again(
    company: ByzantineCompany,
) -> None:
    company.serve(rounds=ENDLESS, min_available_clients=4, averaging={"patience": 2.0})
    fault = company.home(4).with_suffix(".fault")
    *peers, failing = [company.join(runner=failing_at(fault) if number == 3 else ()) for number in range(4)]
    averaged(failing, LONG)
    fault.write_text("made kill")
    failing.expect("fault", LONG)
    failing.end()
    again = company.join(home=company.home(4))
    averaged(peers[0], LONG, survivors=3)
    averaged(again, LONG, survivors=4)
    averaged(peers[0], LONG, survivors=4)
    same_bits([*peers, failing, again])
    assert not company.state(1).membership.banned


def test_a_newcomer_does_not_wait_for_a_round_that_failed_for_most_members(company: ByzantineCompany) -> None:
    company.serve(
        rounds=ENDLESS,
        min_available_clients=4,
        deadline=3600,
        byzantine={"probation": 1000},
        averaging={"patience": 2.0},
    )
    faults = [company.home(number).with_suffix(".fault") for number in range(1, 5)]
    peers = [company.join(runner=failing_at(fault)) for fault in faults]
    averaged(peers[0], LONG)
    newcomer = company.join()
    newcomer.expect("probation", LONG)
    for fault in faults[2:]:
        fault.write_text("made stop")
    for stopped in peers[2:]:
        stopped.expect("fault", LONG)
    # Its round may last an hour.
    newcomer.expect("failed", LONG)
    for stopped in peers[2:]:
        stopped.process.send_signal(signal.SIGCONT)
    averaged(newcomer, LONG)
    averaged(peers[3], LONG, survivors=4)
    same_bits([*peers, newcomer])
    assert not company.state(1).membership.banned
