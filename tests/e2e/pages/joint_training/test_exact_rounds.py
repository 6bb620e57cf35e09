"""A browser and a headless peer get the same plans of federated rounds, and upload the same bits."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.e2e.pages.joint_training.update_witness import watch_tab, witnessed_in_tab
from tests.support.exact.engines import BROWSERS, digest
from tests.support.exact.repeated_plans import await_versions, copy_lots, make_home, start_training
from tests.support.peer.peer_process import joined
from tests.support.peer.update_witness import Plain, witnessed
from tests.support.tasks.pinned_task import built_program, require_exact
from tests.support.timeouts import HEAVY
from tests.support.web.server_process import running

pytestmark = pytest.mark.browser

ROUNDS = 3
# A client alone, from whose update each version follows.
FLAGS = (
    *("--set", f"digits.coordination.rounds={ROUNDS}"),
    *("--set", "digits.coordination.min_available_clients=1"),
    *("--set", "digits.coordination.adaptive_deadline=false"),
    *("--set", "digits.coordination.deadline=300"),
)


@pytest.mark.timeout(HEAVY)
@pytest.mark.parametrize(
    "name", ["chromium", *(pytest.param(name, marks=pytest.mark.long) for name in ("firefox", "webkit"))]
)
def test_a_page_and_a_peer_upload_the_same_bits_for_the_same_plan(
    models: Path, tmp_path: Path, name: str
) -> None:
    tasks = tmp_path / "tasks"
    shutil.copytree(models / "digits", tasks / "digits", ignore=shutil.ignore_patterns("*.py"))
    require_exact(tasks / "digits", built_program(), "built/bundle")
    with running(tasks, tmp_path / "page", *FLAGS) as server, BROWSERS[name]() as browser:
        assert server.report["problems"] == {}
        tab = browser.open(f"{server.url}/tasks/digits/train")
        watch_tab(tab)
        token = start_training(tab)
        by_page = await_versions(server, "digits")
        pages_updates = bits(witnessed_in_tab(tab))
    home, witness = make_home(tmp_path / "home", token), tmp_path / "witness"
    witness.mkdir()
    with (
        running(tasks, copy_lots(tmp_path / "page", tmp_path / "peer"), *FLAGS) as server,
        joined(home, f"{server.url}/tasks/digits", "--exact", witness=witness),
    ):
        by_peer = await_versions(server, "digits")
    assert len(pages_updates) == ROUNDS
    assert pages_updates == bits(witnessed(witness))
    assert by_page == by_peer


def bits(updates: list[Plain]) -> dict[str, tuple[str, int, float]]:
    """Returns the hash of each update by that of the weights it began with, its examples and loss."""
    return {one.weights: (digest(one.update), one.examples, one.loss) for one in updates}
