"""Certificates: more than half of the survivors must have signed exactly these weights."""

from __future__ import annotations

from msgspec.structs import replace

from backend.crypto.certificates import certified, weights_statement
from backend.crypto.client_keys import identity_key, sign
from backend.wire.mesh_messages import Certificate, Signed

BUNDLE, RUN, WEIGHTS = "b" * 64, "e" * 64, "a" * 64
PEERS = {f"{number:016x}": bytes([number]) * 32 for number in range(1, 5)}
IDS = sorted(PEERS)


def certificate(*signers: str) -> Certificate:
    statement = weights_statement("digits", BUNDLE, RUN, 3, 1, IDS, WEIGHTS)
    signatures = [
        Signed(client=one, identity=identity_key(PEERS[one]), signature=sign(PEERS[one], statement))
        for one in signers
    ]
    return Certificate(
        bundle=BUNDLE, run=RUN, round=3, group=1, weights=WEIGHTS, survivors=IDS, signatures=signatures
    )


def test_more_than_half_of_the_survivors_certify_weights() -> None:
    assert certified(certificate(*IDS), "digits")
    assert certified(certificate(*IDS[1:]), "digits")


def test_half_of_them_do_not_nor_one_who_signs_twice() -> None:
    assert not certified(certificate(*IDS[:2]), "digits")
    assert not certified(certificate(IDS[0], IDS[1], IDS[1]), "digits")


def test_a_survivor_named_twice_does_not_lower_what_is_needed() -> None:
    given = certificate(*IDS)
    assert not certified(replace(given, survivors=[IDS[0], *IDS[:3]]), "digits")


def test_whoever_is_no_survivor_cannot_sign() -> None:
    given = certificate(*IDS[:3])
    assert not certified(replace(given, survivors=IDS[1:]), "digits")


def test_a_signature_holds_for_its_task_bundle_run_round_group_and_weights_alone() -> None:
    given = certificate(*IDS)
    assert not certified(given, "letters")
    for other in (
        replace(given, bundle="c" * 64),
        replace(given, run="c" * 64),
        replace(given, round=4),
        replace(given, group=0),
        replace(given, weights="d" * 64),
    ):
        assert not certified(other, "digits")


def test_a_key_that_did_not_sign_spoils_the_certificate() -> None:
    given = certificate(*IDS)
    forged = replace(given.signatures[0], identity=identity_key(bytes([9]) * 32))
    assert not certified(replace(given, signatures=[forged, *given.signatures[1:]]), "digits")


def test_the_order_of_survivors_does_not_matter_to_what_they_sign() -> None:
    one = weights_statement("digits", BUNDLE, RUN, 3, 1, IDS, WEIGHTS)
    assert one == weights_statement("digits", BUNDLE, RUN, 3, 1, reversed(IDS), WEIGHTS)
