"""Who may certify what follows: the groups that the server recorded for its version and round."""

from __future__ import annotations

import pytest

from backend.crypto.certificates import weights_statement
from backend.crypto.client_keys import identity_key, sign
from backend.errors import CertificateError
from backend.protocols.mesh.coordinator_effects import MeshOutcome
from backend.server.mesh.recorded_groups import RecordedGroups
from backend.stores.contracts import MeshGroupRecord
from backend.wire.mesh_messages import Averaged, Certificate, Group, Signed
from tests.support.protocols.mesh_coordinator import report

BUNDLE, RUN, ONE, TWO = "b" * 64, "e" * 64, "1" * 64, "2" * 64
KEYS = {f"{number:016x}": bytes([number]) * 32 for number in range(1, 7)}
IDENTITIES = {client: identity_key(key) for client, key in KEYS.items()}
ANN, BOB, CAT, DAN, EVE, FAY = KEYS
LED_BY_PEERS = 1 << 40


def order(number: int, group: int, *members: str) -> Group:
    return Group(
        round=number,
        group=group,
        members=list(members),
        bounds=[0, 8],
        exchange="full",
        precision="float32",
        subject="changes",
        reducer="mean",
        least=2,
        most_weight=1.0,
        patience=1.0,
        seconds=10.0,
    )


def groups(newest: int = 0, *records: MeshGroupRecord) -> RecordedGroups:
    return RecordedGroups("digits", BUNDLE, RUN, 2, newest, records)


def certificate(number: int, *who: str, group: int = LED_BY_PEERS, weights: str = ONE) -> Certificate:
    statement = weights_statement("digits", BUNDLE, RUN, number, group, who, weights)
    signatures = [
        Signed(client=one, identity=IDENTITIES[one], signature=sign(KEYS[one], statement)) for one in who
    ]
    return Certificate(
        bundle=BUNDLE,
        run=RUN,
        round=number,
        group=group,
        weights=weights,
        survivors=sorted(who),
        signatures=signatures,
    )


def prove(recorded: RecordedGroups, client: str, shown: Certificate) -> tuple[int, str] | None:
    proven = recorded.prove(client, IDENTITIES[client], shown, [], 0)
    return (proven.round, proven.weights) if proven else None


def record(number: int, group: int, *members: str) -> MeshGroupRecord:
    return MeshGroupRecord(number, group, {one: IDENTITIES[one].hex() for one in members})


def outcome(number: int, weights: str, *averaged: tuple[str, Averaged]) -> MeshOutcome:
    return MeshOutcome(number, 0, weights, 3, 1.0, averaged=dict(averaged))


def recorded_version(recorded: RecordedGroups, made: MeshOutcome) -> list[MeshGroupRecord]:
    records = recorded.of(made)
    recorded.recorded(records)
    return records


def test_before_a_group_was_formed_nobody_can_certify_anything() -> None:
    with pytest.raises(CertificateError, match="recorded no group"):
        prove(groups(), ANN, certificate(1, ANN, BOB))


def test_members_of_the_open_round_certify_its_result_after_a_restart() -> None:
    first = groups()
    first.formed([order(1, 1024, ANN, BOB, CAT)], IDENTITIES)
    again = groups(0, *first.records())
    assert prove(again, ANN, certificate(1, ANN, BOB, group=1024)) == (1, ONE)
    again.formed([order(2, 2048, DAN, EVE)], IDENTITIES)
    assert prove(again, ANN, certificate(1, ANN, BOB, group=1024)) is None


def test_a_version_is_followed_by_what_its_survivors_sign() -> None:
    recorded = groups()
    whole = order(1, 1024, ANN, BOB, CAT, DAN, EVE)
    failed = order(1, 1025, FAY)
    recorded.formed([whole, failed], IDENTITIES)
    reports = [(client, report(whole, survivors=[0, 1, 2])) for client in (ANN, BOB, CAT)]
    [kept] = recorded_version(recorded, outcome(1, ONE, *reports))
    assert kept == MeshGroupRecord(1, 1024, {client: IDENTITIES[client].hex() for client in (ANN, BOB, CAT)})
    assert prove(recorded, ANN, certificate(2, ANN, BOB)) == (2, ONE)
    with pytest.raises(CertificateError, match="0 of the 3 peers"):
        prove(recorded, DAN, certificate(2, DAN, EVE))


def test_a_result_made_without_the_server_is_followed_by_what_its_survivors_sign() -> None:
    recorded = groups(1, MeshGroupRecord(1, 1024, {one: IDENTITIES[one].hex() for one in (ANN, BOB, CAT)}))
    shown = certificate(5, ANN, BOB, weights=TWO)
    assert prove(recorded, BOB, shown) == (5, TWO)
    [kept] = recorded_version(recorded, outcome(6, TWO))
    assert (kept.round, kept.group, list(kept.members)) == (5, LED_BY_PEERS, [ANN, BOB])
    # Who comes back later with the same result is believed, with an older one is not.
    assert prove(recorded, ANN, shown) == (5, TWO)
    assert prove(recorded, CAT, certificate(4, ANN, BOB, CAT)) is None


def test_only_a_survivor_shows_a_certificate_and_only_of_this_bundle_and_run() -> None:
    recorded = groups(1, MeshGroupRecord(1, 1024, {one: IDENTITIES[one].hex() for one in (ANN, BOB, CAT)}))
    shown = certificate(2, ANN, BOB)
    for client in (CAT, DAN):
        with pytest.raises(CertificateError, match="no survivor"):
            prove(recorded, client, shown)
    with pytest.raises(CertificateError, match="no survivor"):
        recorded.prove(ANN, IDENTITIES[BOB], shown, [], 0)
    for bundle, run in (("c" * 64, RUN), (BUNDLE, "c" * 64)):
        other = RecordedGroups("digits", bundle, run, 2, 1, recorded.records())
        assert prove(other, ANN, shown) is None


def test_another_group_of_the_recorded_round_is_no_offence() -> None:
    recorded = groups(1, MeshGroupRecord(1, 1024, {one: IDENTITIES[one].hex() for one in (ANN, BOB)}))
    assert prove(recorded, DAN, certificate(1, DAN, EVE, group=1025)) is None


def test_a_result_of_one_group_names_the_members_of_all_groups_recorded_with_it() -> None:
    recorded = groups(1, record(1, 1024, ANN, BOB), record(1, 1025, CAT, DAN, EVE))
    proven = recorded.prove(ANN, IDENTITIES[ANN], certificate(5, ANN, BOB), [], 0)
    assert proven is not None
    assert proven.members == {ANN, BOB}
    assert proven.recorded == {ANN, BOB, CAT, DAN, EVE}


def test_all_groups_that_showed_results_are_recorded_with_the_one_that_is_taken() -> None:
    recorded = groups(1, record(1, 1024, ANN, BOB), record(1, 1025, CAT, DAN), record(1, 1026, EVE, FAY))
    shown = certificate(5, ANN, BOB, weights=TWO)
    prove(recorded, ANN, shown)
    for number in (3, 9):
        group, weights = LED_BY_PEERS + number, f"{number}" * 64
        prove(recorded, CAT, certificate(number, CAT, DAN, group=group, weights=weights))
    kept = recorded_version(recorded, outcome(6, TWO))
    # None is recorded with a later round than the version's: the group of round 9 is recorded with round 5.
    assert kept == [record(5, LED_BY_PEERS, ANN, BOB), record(5, LED_BY_PEERS + 9, CAT, DAN)]
