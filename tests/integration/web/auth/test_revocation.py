"""Whoever loses a right loses what stands on it, and is told; accounts go with all that is theirs."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from websockets.exceptions import ConnectionClosed

from backend.wire.messages import Closing
from tests.integration.web.api.test_task_management import until, watching
from tests.support.tasks.tiny_task import write_task
from tests.support.web.rounds_client import Client
from tests.support.web.server_process import Server, running
from tests.support.web.visitors import Visitor, operator, owner, program


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("taken-back")
    for name in ("open", "closed"):
        write_task(folder / "tasks" / name)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MINGA_SIGN_INS_PER_MINUTE", "1000")
        flags = ("--set", "closed.access.visibility=invited")
        with running(folder / "tasks", folder / "data", *flags) as server:
            yield server


@pytest.fixture(scope="module")
def ann(server: Server) -> Visitor:
    """The operator."""
    return operator(server)


def as_visitor(server: Server, who: Visitor, task: str = "closed") -> Client:
    """A client that shows what its owner would."""
    headers = {} if who.token is None else {"Authorization": f"Bearer {who.token}"}
    if who.cookies:
        headers["Cookie"] = "; ".join(f"{name}={value}" for name, value in who.cookies.items())
    return Client(server.url, task, headers=headers)


def invited(server: Server, ann: Visitor) -> tuple[Visitor, str]:
    """Somebody who came by an invitation, and its address."""
    code = ann.ask("POST", "/api/tasks/closed/invitations", {})["code"]
    newest = ann.ask("GET", "/api/tasks/closed/invitations")["invitations"][0]
    who = Visitor(server.url)
    who.ask("POST", "/api/join", {"code": code})
    return who, f"/api/tasks/closed/invitations/{newest['id']}"


async def told_and_gone(client: Client) -> None:
    """Returns once the client was told that it may stay no longer."""
    closing = await client.next(Closing)
    assert (closing.code, "was revoked" in closing.reason) == ("closed", True)
    with pytest.raises(ConnectionClosed):
        await client.next(Closing)


async def test_who_came_by_a_revoked_invitation_is_out_at_once_and_nobody_else(
    server: Server, ann: Visitor
) -> None:
    first, revoked = invited(server, ann)
    second, _ = invited(server, ann)
    async with (
        as_visitor(server, first) as out,
        as_visitor(server, second) as stays,
        Client(server.url, "open") as elsewhere,
    ):
        ann.ask("DELETE", revoked)
        await told_and_gone(out)
        for client in (stays, elsewhere):
            await client.ready()
    with pytest.raises(Exception, match=r"closed|rcvd|4004"):
        await as_visitor(server, first).__aenter__()


async def test_a_role_that_is_taken_away_closes_the_dashboard_with_a_sentence(
    server: Server, ann: Visitor
) -> None:
    bob = owner(ann, "bob")
    ann.ask("PUT", "/api/tasks/open/members", {"account": "bob", "role": "viewer"})
    async with watching(bob, "open") as his, watching(ann, "open") as hers:
        await until(his, "now", lambda _: True)
        ann.ask("PUT", "/api/tasks/open/members", {"account": "bob", "role": None})
        assert "was revoked" in (await until(his, "ended", lambda _: True))["reason"]
        with pytest.raises(ConnectionClosed):
            await his.recv()
        await until(hers, "now", lambda _: True)


async def test_a_revoked_token_and_an_ended_session_cut_what_they_opened(
    server: Server, ann: Visitor
) -> None:
    cy = owner(ann, "cy")
    ann.ask("PUT", "/api/tasks/closed/members", {"account": "cy", "role": "viewer"})
    script = program(cy, "join")
    async with as_visitor(server, script) as by_token, as_visitor(server, cy) as by_session:
        (token,) = cy.ask("GET", "/api/account")["tokens"]
        cy.ask("DELETE", f"/api/account/tokens/{token['id']}")
        await told_and_gone(by_token)
        cy.ask("POST", "/api/sign-out")
        await told_and_gone(by_session)


async def test_an_account_goes_with_all_that_is_its_own(server: Server, ann: Visitor) -> None:
    dan = owner(ann, "dan")
    ann.ask("PUT", "/api/tasks/closed/members", {"account": "dan", "role": "owner"})
    script = program(dan, "join", "create")
    draft = script.ask("POST", "/api/drafts", {"name": "cats"})["id"]
    refused = dan.ask("DELETE", "/api/account", {"name": "dan"}, 409)["error"]["message"]
    assert "the only owner of 'closed'" in refused
    ann.ask("PUT", "/api/tasks/closed/members", {"account": "ann", "role": "owner"})
    script.ask("DELETE", "/api/account", {"name": "dan"}, 401)
    assert "name" in dan.ask("DELETE", "/api/account", {"name": "Dan"}, 400)["error"]["message"]
    async with as_visitor(server, script) as trains:
        dan.ask("DELETE", "/api/account", {"name": "dan"}, 204)
        await told_and_gone(trains)
    assert dan.ask("GET", "/api/account")["account"] is None
    script.ask("GET", "/api/drafts", None, 401)
    ann.ask("GET", f"/api/drafts/{draft}", None, 404)
    members = ann.ask("GET", "/api/tasks/closed/members")["members"]
    assert "dan" not in [one["account"] for one in members]
    # The name is free again, and whoever takes it has nothing of the one before.
    assert owner(ann, "dan").ask("GET", "/api/account")["account"]["roles"] == {}


def test_operators_remove_accounts_but_not_the_last_operator(ann: Visitor) -> None:
    eve = owner(ann, "eve")
    eve.ask("GET", "/api/accounts", None, 403)
    known = {one["name"]: one for one in ann.ask("GET", "/api/accounts")["accounts"]}
    path = f"/api/accounts/{known['eve']['id']}"
    eve.ask("DELETE", path, {"name": "eve"}, 403)
    ann.ask("DELETE", path, {"name": "eve"}, 204)
    ann.ask("DELETE", path, {"name": "eve"}, 404)
    assert eve.ask("GET", "/api/account")["account"] is None
    owner(ann, "fay")
    ann.ask("PUT", "/api/tasks/closed/members", {"account": "fay", "role": "owner"})
    last = ann.ask("DELETE", "/api/account", {"name": "ann"}, 409)
    assert "the only operator" in last["error"]["message"]
