"""What a peer keeps of a mesh between visits, and the signatures that show others what it is."""

from __future__ import annotations

import hashlib
from pathlib import Path

from backend.crypto.certificates import certified
from backend.crypto.client_keys import identity_key
from backend.peer.mesh.certificate_collector import Attesting
from backend.peer.mesh.weights import EarlierVisit, VisitFile
from backend.wire.mesh_messages import Certificate

BUNDLE, ADDRESS, CONTENT = "b" * 64, "ws://127.0.0.1:8000/api/tasks/digits/socket", bytes(range(64))
KEYS = {f"{number:016x}": bytes([number]) * 32 for number in range(1, 6)}
IDS = list(KEYS)
IDENTITIES = {client: identity_key(key) for client, key in KEYS.items()}
WEIGHTS = hashlib.sha256(CONTENT).hexdigest()


def attesting(weights: str = WEIGHTS) -> Attesting:
    return Attesting("digits", BUNDLE, 3, 1, IDS, weights, IDENTITIES)


def certificate() -> Certificate:
    own = attesting()
    own.sign(IDS[0], KEYS[IDS[0]])
    found = [own.heard(client, attesting().sign(client, KEYS[client])) for client in IDS[1:3]]
    assert found[0] is None
    assert found[1] is not None
    return found[1]


def test_a_certificate_comes_about_by_the_signature_that_makes_more_than_half() -> None:
    made = certificate()
    assert certified(made, "digits")
    assert [one.client for one in made.signatures] == IDS[:3]


def test_signatures_of_other_weights_strangers_and_repetitions_do_not_count() -> None:
    own = attesting()
    own.sign(IDS[0], KEYS[IDS[0]])
    other = attesting("c" * 64).sign(IDS[1], KEYS[IDS[1]])
    assert own.heard(IDS[1], other) is None
    right = attesting().sign(IDS[1], KEYS[IDS[1]])
    assert own.heard(IDS[2], right) is None
    assert own.heard("f" * 16, right) is None
    assert own.heard(IDS[1], right) is None
    assert own.heard(IDS[1], right) is None
    assert len(own.certificate().signatures) == 2


def test_the_next_visit_finds_the_weights_of_the_last_one(tmp_path: Path) -> None:
    file = VisitFile(tmp_path, ADDRESS, "digits")
    assert file.read() is None
    visit = EarlierVisit(certificate(), CONTENT)
    file.write(visit)
    assert VisitFile(tmp_path, ADDRESS, "digits").read() == visit
    assert VisitFile(tmp_path, ADDRESS.replace("8000", "9000"), "digits").read() is None


def test_damaged_weights_and_those_of_another_task_are_not_brought_along(tmp_path: Path) -> None:
    file = VisitFile(tmp_path, ADDRESS, "digits")
    file.write(EarlierVisit(certificate(), CONTENT[:-1] + b"x"))
    assert file.read() is None
    file.write(EarlierVisit(certificate(), CONTENT))
    assert VisitFile(tmp_path, ADDRESS, "letters").read() is None
    (path,) = tmp_path.iterdir()
    path.write_bytes(path.read_bytes()[:100])
    assert file.read() is None


def test_a_folder_that_cannot_be_written_costs_only_the_memory_of_the_visit(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_bytes(b"")
    file = VisitFile(blocked, ADDRESS, "digits")
    file.write(EarlierVisit(certificate(), CONTENT))
    assert file.read() is None
