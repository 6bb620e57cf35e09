"""An owner asks for long work in many drafts, so that nobody else's draft is ever its turn."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.tasks.tiny_task import write_task
from tests.support.web.draft_client import Drafter
from tests.support.web.server_process import Server, running
from tests.support.web.visitors import Visitor, operator, owner, program

# Half a minute to look at, and less than a second to send.
LONG = b",".join(b"c%d" % n for n in range(500)) + b"\n" + (b"1," * 499 + b"1\n") * 20_000
SHORT = b"a,b,class\n" + b"1,2,x\n3,4,y\n" * 10


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("turns")
    write_task(folder / "tasks" / "tiny")
    with running(folder / "tasks", folder / "data") as server:
        yield server


@pytest.fixture(scope="module")
def ann(server: Server) -> Visitor:
    return operator(server)


@pytest.fixture
def eve(ann: Visitor) -> Drafter:
    return Drafter(program(ann, "create"))


@pytest.fixture
def bob(ann: Visitor) -> Drafter:
    return Drafter(program(owner(ann, "bob"), "create"))


def with_data(owner: Drafter, name: str, content: bytes) -> str:
    draft = owner.begin(name)
    owner.upload(draft, "data", "d.csv", content)
    return draft


def states(owner: Drafter, drafts: list[str]) -> list[str]:
    return [owner.send("GET", draft).json["jobs"]["look"]["state"] for draft in drafts]


def test_an_owner_with_much_work_leaves_others_their_turn(eve: Drafter, bob: Drafter) -> None:
    drafts = [with_data(eve, f"eve-{number}", LONG) for number in range(3)]
    for draft in drafts:
        assert eve.send("POST", f"{draft}/jobs", {"kind": "look"}).status == 202
    mine = with_data(bob, "bob", SHORT)
    assert bob.work(mine, "look")["state"] == "done"
    assert states(eve, drafts) == ["running", "waiting", "waiting"]
    # What waits and what runs can be cancelled, and a deleted draft's work ends at once.
    assert eve.send("DELETE", f"{drafts[1]}/jobs/look").status == 204
    assert eve.send("DELETE", drafts[0]).status == 204
    assert eve.send("GET", drafts[0]).status == 404
    assert eve.send("GET", f"{drafts[1]}/jobs/look").json["state"] == "cancelled"
    assert eve.send("DELETE", f"{drafts[2]}/jobs/look").status == 204
    assert eve.ended(drafts[2], "look")["state"] == "cancelled"
    assert bob.work(mine, "look")["state"] == "done"
