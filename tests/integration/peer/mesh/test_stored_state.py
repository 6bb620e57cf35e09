"""What a peer keeps of a mesh between visits, and the signatures that show others what it is."""

from __future__ import annotations

import hashlib
from pathlib import Path

from backend.crypto.certificates import certified
from backend.crypto.client_keys import identity_key
from backend.peer.mesh.certificate_collector import CertificateCollector
from backend.peer.mesh.weights import StoredWeights, WeightStore
from backend.wire.mesh_messages import Certificate

RUN, ADDRESS, CONTENT = "e" * 64, "ws://127.0.0.1:8000/api/tasks/digits/socket", bytes(range(64))
KEYS = {f"{number:016x}": bytes([number]) * 32 for number in range(1, 6)}
IDS = list(KEYS)
IDENTITIES = {client: identity_key(key) for client, key in KEYS.items()}
WEIGHTS = hashlib.sha256(CONTENT).hexdigest()


def collector(weights: str = WEIGHTS) -> CertificateCollector:
    return CertificateCollector("digits", "b" * 64, RUN, 3, 1, IDS, weights, IDENTITIES, 3)


def certificate() -> Certificate:
    own = collector()
    own.sign(IDS[0], KEYS[IDS[0]])
    found = [own.add(client, collector().sign(client, KEYS[client])) for client in IDS[1:3]]
    assert found[0] is None
    assert found[1] is not None
    return found[1]


def test_a_certificate_comes_about_by_the_signature_that_makes_more_than_half() -> None:
    made = certificate()
    assert certified(made, "digits")
    assert [one.client for one in made.signatures] == IDS[:3]


def test_signatures_of_other_weights_strangers_and_repetitions_do_not_count() -> None:
    own = collector()
    own.sign(IDS[0], KEYS[IDS[0]])
    other = collector("c" * 64).sign(IDS[1], KEYS[IDS[1]])
    assert own.add(IDS[1], other) is None
    right = collector().sign(IDS[1], KEYS[IDS[1]])
    assert own.add(IDS[2], right) is None
    assert own.add("f" * 16, right) is None
    assert own.add(IDS[1], right) is None
    assert own.add(IDS[1], right) is None
    assert len(own.certificate().signatures) == 2


def test_the_next_visit_finds_the_weights_of_the_last_one(tmp_path: Path) -> None:
    file = WeightStore(tmp_path, ADDRESS, "digits")
    assert file.read() is None
    visit = StoredWeights(certificate(), CONTENT)
    file.write(visit)
    assert WeightStore(tmp_path, ADDRESS, "digits").read() == visit
    assert WeightStore(tmp_path, ADDRESS.replace("8000", "9000"), "digits").read() is None


def test_damaged_weights_and_those_of_another_task_are_not_brought_along(tmp_path: Path) -> None:
    file = WeightStore(tmp_path, ADDRESS, "digits")
    file.write(StoredWeights(certificate(), CONTENT[:-1] + b"x"))
    assert file.read() is None
    file.write(StoredWeights(certificate(), CONTENT))
    assert WeightStore(tmp_path, ADDRESS, "letters").read() is None
    (path,) = tmp_path.iterdir()
    path.write_bytes(path.read_bytes()[:100])
    assert file.read() is None


def test_a_folder_that_cannot_be_written_costs_only_the_memory_of_the_visit(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_bytes(b"")
    file = WeightStore(blocked, ADDRESS, "digits")
    file.write(StoredWeights(certificate(), CONTENT))
    assert file.read() is None
