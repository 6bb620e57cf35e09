"""Exact peers on a real server."""

from __future__ import annotations

import shutil
from pathlib import Path

from backend.formats.pins import pin_bundle
from tests.integration.peer.units.digits_units import serving, write_digits
from tests.support.peer.peer_process import joined
from tests.support.tasks.pinned_task import built_program
from tests.support.web.server_process import running

TWICE = """[coordination.units.trust]
replicas = 2
spot_checks = 0.0
networks = ["127.0.0.0/8"]
"""


def test_two_exact_peers_do_each_unit_twice_and_the_model_learns(digits: Path, tmp_path: Path) -> None:
    with (
        serving(digits, tmp_path / "server", "epochs = 2", more=TWICE) as server,
        joined(tmp_path / "one", server.url, "--exact", "--at-once", "2") as one,
        joined(tmp_path / "other", server.url, "--exact") as other,
    ):
        for peer in (one, other):
            peer.expect("finished")
            assert peer.end() == (0, "")
        rows = server.get("/api/tasks/digits/contributions")["contributions"]
        assert [(row["kind"], row["backend"]) for row in rows] == [("peer", "exact")] * 2
        versions = server.measured_versions("digits")
    news = [*one.seen, *other.seen]
    assert sum(told["event"] == "rejected" for told in news) == 0
    measured = [one["evaluation"]["metrics"]["accuracy"] for one in versions if one["evaluation"]]
    assert max(measured) > 0.5


def test_where_the_same_bits_are_required_an_exact_peer_trains_and_tensorflow_is_told_how_to_join(
    digits: Path, tmp_path: Path
) -> None:
    task = write_digits(digits, tmp_path / "digits", "epochs = 1")
    (task / "built").unlink()
    shutil.copytree(digits / "built", task / "built")
    pin_bundle(task / "built" / "bundle", built_program())
    with running(task, tmp_path / "data", "--set", "digits.training.exact=required") as server:
        with joined(tmp_path / "other", server.url) as tensorflow:
            code, said = tensorflow.end()
            assert code != 0
            assert "tensorflow-cpu rounds differently. Join with --exact." in said
        with joined(tmp_path / "one", server.url, "--exact") as exact:
            exact.expect("finished")
            assert exact.end() == (0, "")
        rows = server.get("/api/tasks/digits/contributions")["contributions"]
    assert [(row["kind"], row["backend"]) for row in rows] == [("peer", "exact")]
