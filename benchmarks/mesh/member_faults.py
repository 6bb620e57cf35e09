"""How long a group takes when a member is lost: real processes in network namespaces with 20 Mbit/s each.

Usage: python -m benchmarks.mesh.member_faults [--peers 4] [--parameters 250000] [--repetitions 20]
[--patience 2]
           [--faults kill cut pause] [--json]

A member is killed (`kill -9`), paused (SIGSTOP) or taken off the wire, at the moment when the first frame of
a phase comes to it: `begin`, `pieces`, `means`, or `decision` (the first `holds`, which only the leader
hears). In half of the repetitions it is the leader. Seconds are from the fault to the last survivor's result.
`different_bits` counts groups in which two results differ, and `failed` survivors without one. Afterwards the
paused member continues, and the wire is mended; what that member then says must be the survivors' result or
none: `false_results`. Needs Linux, root, iproute2.
"""

from __future__ import annotations

import argparse
import json
import queue
import signal
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import count, product
from typing import Any

from backend.protocols.mesh.grouping import part_bounds
from benchmarks.support.dense_task import ROOT
from tests.support.environment.network_namespaces import Network

FAULTS = ("kill", "cut", "pause")
PHASES = ("begin", "pieces", "means", "decision")
MBIT = 20.0
SECONDS = 40.0
# Spare peers that replace killed ones before all are restarted.
SPARE = 4


@dataclass(frozen=True)
class Row:
    """The results of one fault in one phase; `fault` is `none` for groups without a fault."""

    peers: int
    fault: str
    phase: str
    repetitions: int
    seconds_median: float
    seconds_highest: float
    survivors: int
    failed: int
    different_bits: int
    false_results: int
    reasons: list[str]
    patience: float


class Member:
    """A process on one machine; puts all its lines with the machine's number into `lines`."""

    def __init__(self, network: Network, machine: int, lines: queue.Queue[tuple[int, Any]]) -> None:
        self.machine = machine
        self.client = ""
        self.links: set[str] = set()
        self.process: subprocess.Popen[str] = subprocess.Popen(
            network.command(
                machine, [sys.executable, "-m", "benchmarks.mesh.faulty_member", network.address(machine)]
            ),
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        threading.Thread(target=self._read, args=(lines,), daemon=True).start()

    def _read(self, lines: queue.Queue[tuple[int, Any]]) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            lines.put((self.machine, json.loads(line)))

    def say(self, what: object) -> None:
        """Sends one line of JSON."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(what) + "\n")
        self.process.stdin.flush()

    def end(self) -> None:
        """Kills the process, whatever state it is in."""
        self.process.kill()
        self.process.wait()


class LinkedMembers:
    """Processes that are linked with each other, and their messages."""

    def __init__(self, machines: int, parameters: int) -> None:
        self.network = Network(machines, MBIT, name="m")
        self.lines: queue.Queue[tuple[int, Any]] = queue.Queue()
        self.members = [Member(self.network, machine, self.lines) for machine in range(machines)]
        neighbours: dict[int, Any] = {}
        self._wait(
            lambda: len(neighbours) == machines,
            lambda machine, message: neighbours.update({machine: message}),
        )
        for member in self.members:
            member.client = neighbours[member.machine]["client"]
            member.say([neighbours[machine] for machine in sorted(neighbours)])
        self.settle(self.members)
        for member in self.members:
            member.say({"place": member.machine, "values": parameters})

    def close(self) -> None:
        """Ends all processes and the network."""
        for member in self.members:
            member.end()
        self.network.close()

    def settle(self, members: list[Member]) -> None:
        """Waits until these members are all linked with each other."""
        clients = {member.client for member in members}
        self._wait(lambda: all(clients - {one.client} <= one.links for one in members), lambda *_: None)

    def _wait(self, is_done: Any, handle: Any, seconds: float = 90.0) -> None:
        end = time.monotonic() + seconds
        while not is_done():
            machine, message = self.lines.get(timeout=max(0.0, end - time.monotonic()))
            if isinstance(message, dict) and "links" in message:
                self.members[machine].links = set(message["links"])
            elif message not in ("linked", "ready"):
                handle(machine, message)

    def play(
        self, order: dict[str, Any], members: list[Member], fault: str, phase: str, lost: Member
    ) -> GroupOutcome:
        """Runs one group in which `lost` fails in `phase`; returns when all have ended.

        A lost member that was cut off or paused returns, and is waited for, too.
        """
        ended: dict[int, tuple[float, Any]] = {}
        began = [time.monotonic()]
        triggered = [fault == "none"]

        def heard(machine: int, said: Any) -> None:
            if said.get("round") != order["round"]:
                return
            if "phase" not in said:
                ended[machine] = time.monotonic(), said
            elif not triggered[0] and machine == lost.machine and said["phase"] == phase:
                triggered[0], began[0] = True, time.monotonic()
                self._inject(fault, lost)

        for member in members:
            member.say(order)
        awaited = {member.machine for member in members if fault == "none" or member is not lost}
        self._wait(lambda: awaited <= ended.keys(), heard)
        others = [ended[machine] for machine in awaited]
        lost_result = None
        if fault in ("cut", "pause"):
            self._repair(fault, lost)
            self._wait(lambda: lost.machine in ended, heard)
            lost_result = ended[lost.machine][1]
        return GroupOutcome(
            max(at for at, _ in others) - began[0], [said for _, said in others], lost_result, triggered[0]
        )

    def is_whole(self, members: list[Member], number: int, parameters: int, patience: float) -> bool:
        """Returns whether they average without a loss; a restored link waits for TCP's next retry."""
        outcome = self.play(
            _order(members, number, parameters, patience), members, "none", "begin", members[0]
        )
        return all(message.get("fraction") == 1.0 for message in outcome.others)

    def _inject(self, fault: str, lost: Member) -> None:
        if fault == "cut":
            self.network.cut(lost.machine)
        else:
            lost.process.send_signal(signal.SIGKILL if fault == "kill" else signal.SIGSTOP)

    def _repair(self, fault: str, lost: Member) -> None:
        if fault == "cut":
            self.network.mend(lost.machine)
        else:
            lost.process.send_signal(signal.SIGCONT)


@dataclass(frozen=True)
class GroupOutcome:
    """The survivors' results, the time of the last one, and the lost member's final message."""

    seconds: float
    others: list[dict[str, Any]]
    back: dict[str, Any] | None
    happened: bool


def _order(members: list[Member], number: int, parameters: int, patience: float) -> dict[str, Any]:
    return {
        "round": number,
        "group": 0,
        "members": [member.client for member in members],
        "bounds": part_bounds(parameters, [1.0] * len(members)),
        "exchange": "butterfly",
        "precision": "float16",
        "subject": "changes",
        "reducer": "mean",
        "least": len(members) // 2 + 1,
        "most_weight": float(len(members)),
        "patience": patience,
        "seconds": SECONDS,
    }


def _results(outcome: GroupOutcome) -> list[tuple[str, float]]:
    return [(message["sha256"], message["fraction"]) for message in outcome.others if "sha256" in message]


def _row(peers: int, fault: str, phase: str, patience: float, groups: list[GroupOutcome]) -> Row:
    seconds = [outcome.seconds for outcome in groups]
    false_results = [
        outcome
        for outcome in groups
        if outcome.back
        and "sha256" in outcome.back
        and (outcome.back["sha256"], outcome.back["fraction"]) not in _results(outcome)
    ]
    return Row(
        peers=peers,
        fault=fault,
        phase=phase,
        repetitions=len(groups),
        seconds_median=round(statistics.median(seconds), 2),
        seconds_highest=round(max(seconds), 2),
        survivors=sum(len(_results(outcome)) for outcome in groups),
        failed=sum(len(outcome.others) - len(_results(outcome)) for outcome in groups),
        different_bits=sum(len(set(_results(outcome))) > 1 for outcome in groups),
        false_results=len(false_results),
        reasons=sorted(
            {message["reason"] for outcome in groups for message in outcome.others if "reason" in message}
        ),
        patience=patience,
    )


def run(
    peers: int, parameters: int, repetitions: int, patience: float, faults: Sequence[str]
) -> Iterator[Row]:
    """Yields the row without a fault, then one for each fault in each phase."""
    numbers = count(1)
    company = LinkedMembers(peers + SPARE, parameters)
    try:
        for fault, phase in [("none", "begin"), *product(faults, PHASES)]:
            groups: list[GroupOutcome] = []
            while len(groups) < repetitions:
                running = [member for member in company.members if member.process.poll() is None]
                if len(running) < peers:
                    company.close()
                    company = LinkedMembers(peers + SPARE, parameters)
                    continue
                members = running[:peers]
                company.settle(members)
                leading = phase == "decision" or len(groups) % 2 == 0
                lost = members[0 if leading else -1]
                order = _order(members, next(numbers), parameters, patience)
                outcome = company.play(order, members, fault, phase, lost)
                if outcome.happened:
                    groups.append(outcome)
                if fault == "kill":
                    lost.process.wait()
                while fault == "cut" and not company.is_whole(members, next(numbers), parameters, patience):
                    pass
            yield _row(peers, fault, phase, patience, groups)
    finally:
        company.close()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.mesh.member_faults", description=__doc__)
    parser.add_argument("--peers", type=int, default=4)
    parser.add_argument("--parameters", type=int, default=250_000)
    parser.add_argument("--repetitions", type=int, default=20)
    parser.add_argument("--patience", type=float, default=2.0)
    parser.add_argument("--faults", nargs="+", choices=FAULTS, default=FAULTS)
    parser.add_argument("--json", action="store_true", help="print one line of JSON")
    options = parser.parse_args()
    rows = []
    for row in run(options.peers, options.parameters, options.repetitions, options.patience, options.faults):
        rows.append(asdict(row))
        if not options.json:
            print("  ".join(f"{name} {value}" for name, value in rows[-1].items()), flush=True)
    if options.json:
        print(json.dumps({"rows": rows}))


if __name__ == "__main__":
    main()
