"""Records who is in the groups of a mesh, and checks the certificates that their members show."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from backend.crypto.certificate_chain import GroupMembers, follow
from backend.crypto.certificates import weights_statement
from backend.crypto.verified_signatures import VerifiedSignatures
from backend.errors import CertificateError
from backend.protocols.mesh.coordinator_effects import MeshOutcome
from backend.protocols.mesh.holdings import ProvenResult
from backend.stores.contracts import MeshGroupRecord
from backend.wire.mesh_messages import Certificate, Group


class RecordedGroups:
    """The groups whose members can certify what follows: of the newest version, and of the open round.

    Owned by the host of the task `task` with the bundle at `bundle`; `run` names the task's run, `newest` is
    the round of its newest version. Only the server puts a peer into a first group: version 0 is the task's
    own, and what follows it begins with a group that the server formed.
    """

    def __init__(
        self,
        task: str,
        bundle: str,
        run: str,
        quorum: int,
        newest: int,
        records: Iterable[MeshGroupRecord] = (),
    ) -> None:
        self._task = task
        self._bundle = bundle
        self._run = run
        self._quorum = quorum
        groups = [_group_of(record) for record in records]
        self._of_version = [group for group in groups if group.round <= newest]
        self._of_round = [group for group in groups if group.round > newest]
        self._signatures = VerifiedSignatures()
        # Of proven results, by the hash of their weights: the recorded group that they follow from, and who
        # made them.
        self._proven: dict[str, tuple[GroupMembers, GroupMembers]] = {}

    def statement(self, number: int, group: int, survivors: Iterable[str], weights: str) -> bytes:
        """Returns what the survivors of a group of this run sign."""
        return weights_statement(self._task, self._bundle, self._run, number, group, survivors, weights)

    def records(self) -> list[MeshGroupRecord]:
        """Returns the groups as they are to be recorded."""
        return [_record_of(group) for group in (*self._of_version, *self._of_round)]

    def members(self) -> Mapping[str, bytes]:
        """Returns the identities, by client, of those in the newest group; none before the first."""
        groups = self._of_round or self._of_version
        return max(groups, key=_key).members if groups else {}

    def formed(self, groups: Sequence[Group], identities: Mapping[str, bytes]) -> None:
        """Takes the groups of a round, in place of those of the round before."""
        self._of_round = [
            GroupMembers(
                group.round, group.group, {client: identities.get(client, b"") for client in group.members}
            )
            for group in groups
        ]

    def of(self, outcome: MeshOutcome) -> list[MeshGroupRecord]:
        """Returns the groups that made a version: with a result, and only their survivors.

        Of a version made without the server these are the groups that showed results, each with the
        survivors of its newest one: as the version's round is then theirs, none is recorded with a later one.
        """
        if outcome.weights in self._proven and not outcome.averaged:
            base, makers = self._proven[outcome.weights]
            newest = {_key(base): makers}
            for other, others in sorted(self._proven.values(), key=lambda found: -found[1].round):
                newest.setdefault(_key(other), others)
            return [
                _record_of(replace(group, round=min(group.round, makers.round))) for group in newest.values()
            ]
        survivors = _survivors(outcome)
        return [
            _record_of(_among(group, survivors[group.group]))
            for group in self._of_round
            if group.group in survivors
        ]

    def recorded(self, records: Iterable[MeshGroupRecord]) -> None:
        """Takes that a version is recorded which these groups made."""
        self._of_version = [_group_of(record) for record in records]
        self._of_round = []
        self._proven.clear()

    def prove(
        self,
        client: str,
        identity: bytes,
        certificate: Certificate,
        chain: Sequence[Certificate],
        newest: int,
    ) -> ProvenResult | None:
        """Returns the result that `client`, whose key is `identity`, proves to be a group's.

        Returns None if it is older than the records, or of another bundle or run. `newest` is the
        last round that the server knows of. Raises CertificateError if they do not follow from a recorded
        group.
        """
        certificates = (*chain, certificate)
        if {(each.bundle, each.run) for each in certificates} != {(self._bundle, self._run)}:
            return None
        recorded = [*self._of_round, *self._of_version]
        problem = CertificateError("The server recorded no group that could certify these weights.")
        for before in recorded:
            if not before.precedes(certificate):
                continue
            try:
                makers = follow(
                    before, certificates, self._task, self._quorum, newest, self._signatures.verify
                )
            except CertificateError as error:
                problem = error
                continue
            if makers.members.get(client) != identity:
                raise CertificateError(
                    "These weights are shown by a peer that is no survivor of their group."
                )
            self._proven[certificate.weights] = (before, makers)
            beside = self._of_round if before in self._of_round else self._of_version
            recorded_members = frozenset[str]().union(*(group.members for group in beside))
            return ProvenResult(
                certificate.round, certificate.weights, frozenset(before.members), recorded_members
            )
        if any(certificate.round <= before.round for before in recorded):
            return None
        raise problem


def _survivors(outcome: MeshOutcome) -> dict[int, tuple[int, ...]]:
    """Returns the places of each group's survivors, as most of the reports name them."""
    named = defaultdict[int, Counter[tuple[int, ...]]](Counter)
    for report in outcome.averaged.values():
        named[report.group][tuple(sorted(report.survivors))] += 1
    return {group: counts.most_common(1)[0][0] for group, counts in named.items()}


def _key(group: GroupMembers) -> tuple[int, int]:
    return group.round, group.group


def _among(group: GroupMembers, places: Sequence[int]) -> GroupMembers:
    """Returns the group with only the members at `places`."""
    members = list(group.members.items())
    return GroupMembers(group.round, group.group, dict(members[place] for place in sorted(set(places))))


def _group_of(record: MeshGroupRecord) -> GroupMembers:
    members = {client: bytes.fromhex(key) for client, key in record.members.items()}
    return GroupMembers(record.round, record.group, members)


def _record_of(group: GroupMembers) -> MeshGroupRecord:
    members = {client: key.hex() for client, key in group.members.items()}
    return MeshGroupRecord(group.round, group.group, members)
