"""Chains of certificates: each follows from the members that were recorded before."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from backend.crypto.certificate_chain import MOST_ROUNDS_AHEAD, GroupMembers, follow
from backend.crypto.certificates import weights_statement
from backend.crypto.client_keys import identity_key, sign
from backend.errors import CertificateError
from backend.wire.mesh_messages import Certificate, Signed

BUNDLE, RUN, WEIGHTS, TASK = "b" * 64, "e" * 64, "a" * 64, "digits"
KEYS = {f"{number:016x}": bytes([number]) * 32 for number in range(1, 8)}
ANN, BOB, CAT, DAN, EVE, FAY, GUS = KEYS
# Version 4 is of round 10, by a group of the server's.
RECORDED = GroupMembers(
    10, 1024, {client: identity_key(KEYS[client]) for client in (ANN, BOB, CAT, DAN, EVE)}
)


def certificate(number: int, survivors: list[str], signers: list[str], group: int = 1 << 40) -> Certificate:
    statement = weights_statement(TASK, BUNDLE, RUN, number, group, survivors, WEIGHTS)
    signatures = [
        Signed(client=one, identity=identity_key(KEYS[one]), signature=sign(KEYS[one], statement))
        for one in signers
    ]
    return Certificate(
        bundle=BUNDLE,
        run=RUN,
        round=number,
        group=group,
        weights=WEIGHTS,
        survivors=survivors,
        signatures=signatures,
    )


def after(*certificates: Certificate, quorum: int = 2, newest: int = 0) -> GroupMembers:
    return follow(RECORDED, certificates, TASK, quorum, newest)


def test_the_survivors_that_more_than_half_of_the_members_name_are_the_next_members() -> None:
    members = after(certificate(11, [ANN, BOB, CAT, DAN], [ANN, BOB, CAT]))
    assert (members.round, members.group, set(members.members)) == (11, 1 << 40, {ANN, BOB, CAT, DAN})
    # Each has the key that was recorded, whether it signed or not.
    assert members.members[DAN] == identity_key(KEYS[DAN])


@pytest.mark.parametrize(
    ("survivors", "signers"),
    [
        ([ANN], [ANN]),
        ([FAY], [FAY]),
        ([FAY, GUS], [FAY, GUS]),
        ([ANN, BOB], [ANN, BOB]),
        ([ANN, BOB, FAY, GUS], [ANN, BOB, FAY, GUS]),
    ],
)
def test_fewer_than_half_of_the_members_certify_nothing(survivors: list[str], signers: list[str]) -> None:
    with pytest.raises(CertificateError, match=r"of the 5 peers that the server recorded"):
        after(certificate(11, survivors, signers))


def test_a_member_with_another_key_does_not_count() -> None:
    forged = certificate(11, [ANN, BOB, CAT], [ANN, BOB, CAT])
    statement = weights_statement(TASK, BUNDLE, RUN, 11, 1 << 40, [ANN, BOB, CAT], WEIGHTS)
    fay = Signed(client=CAT, identity=identity_key(KEYS[FAY]), signature=sign(KEYS[FAY], statement))
    with pytest.raises(CertificateError, match=r"^2 of the 5"):
        after(replace(forged, signatures=[*forged.signatures[:2], fay]))


def test_a_signature_that_is_not_valid_spoils_it() -> None:
    forged = replace(certificate(11, [ANN, BOB, CAT], [ANN, BOB, CAT]), weights="c" * 64)
    with pytest.raises(CertificateError, match="not valid"):
        after(forged)


def test_the_quorum_holds_where_there_are_so_many_members() -> None:
    four = certificate(11, [ANN, BOB, CAT, DAN], [ANN, BOB, CAT, DAN])
    assert after(four, quorum=4).round == 11
    with pytest.raises(CertificateError, match="4 must"):
        after(replace(four, signatures=four.signatures[:3]), quorum=4)
    with pytest.raises(CertificateError, match="5 must"):
        after(four, quorum=9)


def test_a_chain_goes_on_while_more_than_half_of_the_survivors_before_sign() -> None:
    first = certificate(11, [ANN, BOB, CAT], [ANN, BOB, CAT])
    second = certificate(13, [ANN, BOB], [ANN, BOB])
    assert after(first, second).round == 13
    with pytest.raises(CertificateError):
        after(second)
    with pytest.raises(CertificateError):
        after(first, certificate(13, [CAT, FAY], [CAT, FAY]))


def test_links_from_before_the_records_are_passed_over() -> None:
    older = certificate(9, [FAY, GUS], [FAY, GUS])
    other_group = certificate(10, [FAY, GUS], [FAY, GUS])
    newest = certificate(12, [ANN, BOB, CAT], [ANN, BOB, CAT])
    assert after(older, other_group, newest).round == 12


def test_nothing_is_passed_over_behind_the_first_link_that_counts() -> None:
    true = certificate(12, [ANN, BOB, CAT], [ANN, BOB, CAT])
    for number, group in ((9, 1 << 40), (10, 1024), (11, 1 << 40), (12, 1 << 40), (12, (1 << 40) + 1)):
        with pytest.raises(CertificateError, match="of a later round"):
            after(true, certificate(number, [ANN, BOB, CAT], [ANN, BOB, CAT], group=group))


def test_a_chain_without_a_link_that_counts_proves_nothing() -> None:
    with pytest.raises(CertificateError, match="not newer"):
        after()
    with pytest.raises(CertificateError, match="not newer"):
        after(certificate(9, [ANN, BOB, CAT], [ANN, BOB, CAT]))


def test_the_recorded_group_certifies_its_own_result() -> None:
    own = certificate(10, [ANN, BOB, CAT], [ANN, BOB, CAT], group=1024)
    assert set(after(own).members) == {ANN, BOB, CAT}


@pytest.mark.parametrize(("newest", "last"), [(0, 10 + MOST_ROUNDS_AHEAD), (90, 90 + MOST_ROUNDS_AHEAD)])
def test_no_round_is_too_far_ahead_of_the_last_that_the_server_knows(newest: int, last: int) -> None:
    signers = [ANN, BOB, CAT]
    assert after(certificate(last, signers, signers), newest=newest).round == last
    with pytest.raises(CertificateError, match="too far ahead"):
        after(certificate(last + 1, signers, signers), newest=newest)


def test_newcomers_that_signed_are_members_and_others_have_no_key_that_counts() -> None:
    members = after(certificate(11, [ANN, BOB, CAT, FAY, GUS], [ANN, BOB, CAT, FAY])).members
    assert (members[FAY], members[GUS]) == (identity_key(KEYS[FAY]), b"")
