"""Tasks that are unlisted or by invitation: who knows of them, and who comes in."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
from starlette.routing import Route
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed
from websockets.typing import Subprotocol

from backend.errors import PeerError
from backend.peer.session.server_address import accept_invitation, choose_task, parse_address, visitor_headers
from backend.peer.session.server_connection import ServerConnection
from backend.peer.session.transport import ROUNDS
from backend.settings import Settings
from backend.web.app import build_app
from backend.wire.codec import decode_server
from backend.wire.messages import PROTOCOL, Closing, Hello, ServerFrame, Welcome
from tests.support.tasks.tiny_task import write_task
from tests.support.timeouts import PATIENCE
from tests.support.web.rounds_client import Client
from tests.support.web.server_process import Server, running
from tests.support.web.visitors import Visitor, operator, owner, program

TOKEN = "t" * 32


def addresses() -> list[tuple[str, str]]:
    """Method and path of everything that the server has of a task called {name}."""
    app = build_app(Settings(Path("unused"), ()))
    fillers = {"{sha256}": "0" * 64, "{id}": "0" * 16, "{client}": "0" * 16, "{file}": "rounds.csv"}
    fillers["{format}"] = "npz"
    fillers["{version:int}"] = fillers["{id:int}"] = "0"
    found = []
    for route in app.routes:
        if isinstance(route, Route) and "/tasks/{name}" in route.path:
            path = route.path
            for name, value in fillers.items():
                path = path.replace(name, value)
            found += [(method, path) for method in sorted((route.methods or set()) - {"HEAD"})]
    return found


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("invited")
    for name in ("open", "hidden", "closed"):
        # Each has weights of its own, so that a blob belongs to one of them.
        write_task(folder / "tasks" / name, more={"open": 0, "hidden": 1, "closed": 2}[name])
    flags = ("--set", "hidden.access.visibility=unlisted", "--set", "closed.access.visibility=invited")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MINGA_SIGN_INS_PER_MINUTE", "1000")
        with running(folder / "tasks", folder / "data", *flags) as server:
            yield server


@pytest.fixture(scope="module")
def ann(server: Server) -> Visitor:
    """The operator."""
    return operator(server)


@pytest.fixture
def stranger(server: Server) -> Visitor:
    return Visitor(server.url)


def invite(of: Visitor, **terms: object) -> str:
    """The code of a new invitation."""
    answer = of.ask("POST", "/api/tasks/closed/invitations", terms)
    code: str = answer["code"]
    assert answer["address"] == f"http://{of.host}/join#{code}"
    assert answer["qr"].startswith("data:image/svg+xml")
    return code


def names(visitor: Visitor) -> set[str]:
    return {task["name"] for task in visitor.ask("GET", "/api/tasks")["tasks"]}


def test_there_are_addresses_of_tasks_to_be_tried() -> None:
    assert {("GET", "/tasks/{name}"), ("POST", "/api/tasks/{name}/invitations")} <= set(addresses())


@pytest.mark.parametrize(("method", "path"), addresses())
def test_a_task_by_invitation_answers_strangers_as_one_that_does_not_exist(
    stranger: Visitor, ann: Visitor, method: str, path: str
) -> None:
    told = [stranger.ask(method, path.replace("{name}", name), {}, 404) for name in ("closed", "no-such")]
    assert told[0] == told[1]


def test_lists_show_a_task_to_who_takes_part_in_it(stranger: Visitor, ann: Visitor) -> None:
    assert names(stranger) == {"open"}
    assert names(ann) == {"open", "hidden", "closed"}
    page = stranger.ask("GET", "/", Accept="text/html")
    assert "/tasks/open" in page
    assert "/tasks/hidden" not in page
    assert "/tasks/closed" not in page


def test_who_has_the_address_of_an_unlisted_task_sees_it(stranger: Visitor) -> None:
    assert stranger.ask("GET", "/api/tasks/hidden")["name"] == "hidden"


def test_an_invitation_lets_a_browser_in_and_is_remembered(stranger: Visitor, ann: Visitor) -> None:
    code = invite(ann, note="a class", uses=1)
    assert stranger.ask("POST", "/api/join", {"code": code}) == {"task": "closed", "path": "/tasks/closed"}
    (cookie,) = stranger.given
    assert {"httponly", "samesite=lax"} <= {word.strip().lower() for word in cookie.split(";")}
    assert names(stranger) == {"open", "closed"}
    # The same browser once more does not use it up, another is too much.
    stranger.ask("POST", "/api/join", {"code": code})
    told = Visitor(f"http://{stranger.host}").ask("POST", "/api/join", {"code": code}, 403)
    assert "has no uses left" in told["error"]["message"]
    (listed,) = [
        one
        for one in ann.ask("GET", "/api/tasks/closed/invitations")["invitations"]
        if one["note"] == "a class"
    ]
    assert (listed["uses"], listed["used"]) == (1, 1)
    assert code not in str(listed)


def test_an_invitation_that_is_revoked_lets_nobody_in_any_more(stranger: Visitor, ann: Visitor) -> None:
    code = invite(ann, note="revoked")
    stranger.ask("POST", "/api/join", {"code": code})
    (listed,) = [
        one
        for one in ann.ask("GET", "/api/tasks/closed/invitations")["invitations"]
        if one["note"] == "revoked"
    ]
    ann.ask("DELETE", f"/api/tasks/closed/invitations/{listed['id']}")
    ann.ask("DELETE", f"/api/tasks/closed/invitations/{listed['id']}", status=404)
    assert names(stranger) == {"open"}
    stranger.ask("POST", "/api/join", {"code": code}, 403)


@pytest.mark.parametrize("terms", [{"uses": 0}, {"days": 0}, {"note": "x" * 101}, {"more": 1}, {"uses": "2"}])
def test_an_invitation_that_makes_no_sense_is_refused(ann: Visitor, terms: dict[str, object]) -> None:
    ann.ask("POST", "/api/tasks/closed/invitations", terms, 400)


def test_blobs_of_a_task_by_invitation_are_for_its_participants(stranger: Visitor, ann: Visitor) -> None:
    closed = f"/blobs/{ann.ask('GET', '/api/tasks/closed')['weights']}"
    stranger.ask("GET", closed, status=404)
    stranger.ask("POST", "/api/join", {"code": invite(ann)})
    for of, blob, kept in (
        (stranger, closed, "private"),
        (Visitor(ann.host), f"/blobs/{ann.ask('GET', '/api/tasks/open')['weights']}", "public"),
    ):
        answer = httpx.get(f"http://{ann.host}{blob}", cookies=of.cookies, timeout=PATIENCE)
        assert answer.status_code == 200
        assert answer.headers["cache-control"].startswith(kept)


async def test_its_socket_is_for_participants(server: Server, stranger: Visitor, ann: Visitor) -> None:
    address = f"{server.url.replace('http', 'ws', 1)}/api/tasks/closed/socket"
    async with connect(address, subprotocols=[Subprotocol(PROTOCOL)]) as socket:
        frame = await socket.recv()
        assert isinstance(frame, bytes)
        closing = decode_server(frame)
        assert isinstance(closing, Closing)
        assert closing.code == "not-found"
        with pytest.raises(ConnectionClosed):
            await socket.recv()
    await asyncio.to_thread(stranger.ask, "POST", "/api/join", {"code": await asyncio.to_thread(invite, ann)})
    cookie = f"minga_visitor={stranger.cookies['minga_visitor']}"
    async with Client(server.url, "closed", headers={"Cookie": cookie}) as client:
        assert client.welcome.task == "closed"


async def test_a_peer_comes_in_by_the_address_of_an_invitation(server: Server, ann: Visitor) -> None:
    code = await asyncio.to_thread(invite, ann, uses=1)
    site = parse_address(f"{server.url}/join#{code}")
    headers = visitor_headers(TOKEN)
    async with httpx.AsyncClient(timeout=PATIENCE, headers=headers) as client:
        for _ in range(2):
            invited = await accept_invitation(client, site)
            assert (await choose_task(client, invited, None)).name == "closed"
        with pytest.raises(PeerError, match="is not valid"):
            await accept_invitation(client, parse_address(f"{server.url}/join#{'x' * 43}"))
    heard: list[ServerFrame] = []
    line = ServerConnection(ROUNDS, invited.socket("closed"), headers)
    hello = Hello(token=TOKEN, kind="peer", backend="numpy", agent="t", aggregation=["open"], min_masked=0)

    def said(frame: ServerFrame) -> None:
        heard.append(frame)
        line.finish()

    await line.run_once(lambda: line.send(hello), said)
    assert isinstance(heard[0], Welcome)


def test_roles_are_given_and_taken_by_owners(server: Server, ann: Visitor) -> None:
    bob, carl = owner(ann, "bob"), owner(ann, "carl")
    assert names(bob) == {"open"}
    ann.ask("PUT", "/api/tasks/closed/members", {"account": "bob", "role": "owner"})
    assert names(bob) == {"open", "closed"}
    assert bob.ask("GET", "/api/account")["account"]["roles"] == {"closed": "owner"}
    bob.ask("PUT", "/api/tasks/closed/members", {"account": "carl", "role": "viewer"})
    carl.ask("GET", "/api/tasks/closed/members")
    told = carl.ask("POST", "/api/tasks/closed/invitations", {}, 403)
    assert "collaborator" in told["error"]["message"]
    bob.ask("PUT", "/api/tasks/closed/members", {"account": "carl", "role": "collaborator"})
    invite(carl)
    carl.ask("PUT", "/api/tasks/closed/members", {"account": "bob", "role": "viewer"}, 403)
    bob.ask("PUT", "/api/tasks/closed/members", {"account": "carl", "role": None})
    carl.ask("GET", "/api/tasks/closed", status=404)
    bob.ask("PUT", "/api/tasks/closed/members", {"account": "nobody", "role": "viewer"}, 404)
    told = bob.ask("PUT", "/api/tasks/closed/members", {"account": "bob", "role": None}, 400)
    assert "needs an owner" in told["error"]["message"]
    assert bob.ask("GET", "/api/tasks/closed/members") == {"members": [{"account": "bob", "role": "owner"}]}
    script = program(bob, "share", "manage", task="closed")
    script.ask("PUT", "/api/tasks/closed/members", {"account": "carl", "role": "owner"}, 401)
    invite(script)


def test_pages_of_access_are_for_who_manages_a_task(stranger: Visitor, ann: Visitor) -> None:
    assert "Invitations" in ann.ask("GET", "/tasks/closed/access", Accept="text/html")
    stranger.ask("GET", "/tasks/open/access", Accept="text/html", status=401)
    assert "data-problem" in stranger.ask("GET", "/join", Accept="text/html")


def test_a_code_is_never_a_part_of_what_a_browser_sends_by_address(ann: Visitor) -> None:
    parts = urlsplit(ann.ask("POST", "/api/tasks/closed/invitations", {})["address"])
    assert (parts.path, parts.query) == ("/join", "")
    assert len(parts.fragment) == 43
