"""Owners sign in by links, and what browsers, programs and other sites may do with that."""

from __future__ import annotations

import itertools
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.support.programs.program_process import Preload, run
from tests.support.tasks.tiny_task import write_task
from tests.support.web.server_process import Server, running
from tests.support.web.visitors import Visitor, operator, owner, program

NUMBERS = itertools.count(1)
PASSWORD = "four words make one"  # noqa: S105 - of the test alone.


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("owners")


@pytest.fixture(scope="module")
def server(folder: Path, monkeymodule: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeymodule.setenv("MINGA_SIGN_INS_PER_MINUTE", "1000")
    write_task(folder / "tasks" / "tiny")
    log = folder / "log"
    with running(folder / "tasks", folder / "data", "--log-level", "debug", log=log) as server:
        yield server


@pytest.fixture(scope="module")
def monkeymodule() -> Iterator[pytest.MonkeyPatch]:
    with pytest.MonkeyPatch.context() as patch:
        yield patch


@pytest.fixture(scope="module")
def ann(server: Server) -> Visitor:
    """The operator."""
    return operator(server)


@pytest.fixture
def bob(ann: Visitor) -> Visitor:
    """An owner, new for every test."""
    return owner(ann, f"bob{next(NUMBERS)}")


def sentence(answer: dict[str, dict[str, str]]) -> str:
    return answer["error"]["message"]


def test_the_link_of_a_new_server_makes_one_operator(server: Server, ann: Visitor) -> None:
    assert server.report["owner_link"].startswith("http://localhost:")
    assert ann.ask("GET", "/api/account")["account"] == {"name": "ann", "operator": True, "roles": {}}
    code = server.report["owner_link"].partition("#")[2]
    answer = Visitor(server.url).ask("POST", "/api/sign-in/link", {"code": code, "name": "eve"}, 401)
    assert "already used" in sentence(answer)


def test_a_session_is_kept_where_scripts_and_other_sites_do_not_reach_it(bob: Visitor) -> None:
    (cookie,) = bob.given
    assert cookie.startswith("minga_session=")
    said = {word.strip().lower() for word in cookie.split(";")[1:]}
    assert {"httponly", "samesite=lax", "path=/"} <= said
    assert not any(word.startswith("domain") for word in said)


@pytest.mark.parametrize("name", ["", "Ann", "a b", "-ann", "../ann", "a" * 65, "ann"])
def test_a_name_that_cannot_be_had_does_not_use_up_the_link(ann: Visitor, server: Server, name: str) -> None:
    code = ann.ask("POST", "/api/account/links", {})["code"]
    visitor = Visitor(server.url)
    visitor.ask("POST", "/api/sign-in/link", {"code": code, "name": name}, 400)
    assert visitor.ask("POST", "/api/sign-in/link/look", {"code": code}) == {"account": None}
    visitor.ask("POST", "/api/sign-in/link", {"code": code, "name": f"carol{next(NUMBERS)}"})


def test_a_link_brings_back_who_lost_all_keys(ann: Visitor, bob: Visitor, server: Server) -> None:
    name = bob.ask("GET", "/api/account")["account"]["name"]
    code = ann.ask("POST", "/api/account/links", {"account": name})["code"]
    visitor = Visitor(server.url)
    assert visitor.ask("POST", "/api/sign-in/link/look", {"code": code}) == {"account": name}
    assert visitor.ask("POST", "/api/sign-in/link", {"code": code}) == {"account": name}
    visitor.ask("POST", "/api/sign-in/link", {"code": code}, 401)


def test_only_operators_invite_owners(bob: Visitor, server: Server) -> None:
    assert "operator" in sentence(bob.ask("POST", "/api/account/links", {}, 403))
    assert "/sign-in" in sentence(Visitor(server.url).ask("POST", "/api/account/links", {}, 401))


def test_signing_out_ends_the_session_for_good(bob: Visitor) -> None:
    before = dict(bob.cookies)
    bob.ask("POST", "/api/sign-out")
    assert bob.cookies == {}
    bob.cookies = before
    assert bob.ask("GET", "/api/account") == {"account": None}


def test_sessions_elsewhere_are_listed_and_ended(ann: Visitor, bob: Visitor, server: Server) -> None:
    name = bob.ask("GET", "/api/account")["account"]["name"]
    elsewhere = Visitor(server.url)
    code = ann.ask("POST", "/api/account/links", {"account": name})["code"]
    elsewhere.ask("POST", "/api/sign-in/link", {"code": code}, User_Agent="A phone")
    listed = bob.ask("GET", "/api/account")["sessions"]
    assert [(one["agent"], one["here"]) for one in listed] == [("A phone", False), ("", True)]
    bob.ask("DELETE", f"/api/account/sessions/{listed[0]['id']}")
    assert elsewhere.ask("GET", "/api/account") == {"account": None}
    bob.ask("DELETE", f"/api/account/sessions/{listed[0]['id']}", status=404)
    bob.ask("DELETE", "/api/account/sessions/%25", status=400)
    bob.ask("DELETE", "/api/account/sessions")
    assert bob.ask("GET", "/api/account") == {"account": None}


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": None, "Sec_Fetch_Site": "cross-site"},
        {"Origin": None, "Sec_Fetch_Site": "same-site"},
        {"Origin": None, "Sec_Fetch_Site": None},
    ],
)
def test_pages_of_other_sites_change_nothing_with_a_session(
    bob: Visitor, headers: dict[str, str | None]
) -> None:
    answer = bob.ask("POST", "/api/sign-out", None, 403, **headers)
    assert "other sites" in sentence(answer)
    assert bob.ask("GET", "/api/account")["account"] is not None


def test_forms_of_other_sites_are_no_json(bob: Visitor) -> None:
    for kind in ("text/plain", "application/x-www-form-urlencoded", None):
        body = {"name": "x", "scopes": ["join"]}
        bob.ask("POST", "/api/account/tokens", body, 400, Content_Type=kind)
    assert bob.ask("GET", "/api/account")["tokens"] == []


def test_a_token_is_shown_once_used_and_revoked(bob: Visitor) -> None:
    script = program(bob, "inspect", "manage", task="tiny")
    assert script.token is not None
    assert script.token.startswith("minga_")
    (listed,) = bob.ask("GET", "/api/account")["tokens"]
    assert (listed["scopes"], listed["task"], listed["used"]) == (["inspect", "manage"], "tiny", None)
    assert script.token not in str(listed)
    assert script.ask("GET", "/api/account")["account"]["name"].startswith("bob")
    (listed,) = bob.ask("GET", "/api/account")["tokens"]
    assert listed["used"] is not None
    bob.ask("DELETE", f"/api/account/tokens/{listed['id']}")
    assert "revoked" in sentence(script.ask("GET", "/api/account", status=401))


def test_the_account_says_until_when_a_token_holds_that_was_never_used(bob: Visitor) -> None:
    bob.ask("POST", "/api/account/tokens", {"name": "script", "scopes": ["inspect"], "days": 7})
    (listed,) = bob.ask("GET", "/api/account")["tokens"]
    page = bob.ask("GET", "/account", Accept="text/html")
    until = datetime.fromtimestamp(listed["expires"], UTC)
    assert f"never used, until {until:%-d %b %Y, %H:%M:%S} UTC" in page


def test_a_token_makes_no_tokens_and_ends_no_sessions(ann: Visitor) -> None:
    script = program(ann, "administer", "manage")
    script.ask("POST", "/api/account/tokens", {"name": "x", "scopes": ["manage"]}, 401)
    script.ask("POST", "/api/account/links", {}, 401)
    script.ask("DELETE", "/api/account/sessions", status=401)


@pytest.mark.parametrize(
    "body",
    [
        {"name": "x", "scopes": []},
        {"name": "x", "scopes": ["everything"]},
        {"name": "", "scopes": ["join"]},
        {"name": "x", "scopes": ["join"], "days": 0},
        {"name": "x", "scopes": ["join"], "more": 1},
        {"scopes": ["join"]},
        [],
        "x" * 70_000,
    ],
)
def test_a_token_that_makes_no_sense_is_refused_with_a_sentence(bob: Visitor, body: object) -> None:
    status = 413 if isinstance(body, str) else 400
    assert sentence(bob.ask("POST", "/api/account/tokens", body, status))


@pytest.mark.parametrize("token", ["minga_unknown", "no-token-of-ours", ""])
def test_a_wrong_token_is_not_taken_for_nobody(server: Server, token: str) -> None:
    assert "API token" in sentence(Visitor(server.url, token).ask("GET", "/api/account", status=401))


def test_sign_in_is_refused_where_others_in_the_network_could_read_it(ann: Visitor, server: Server) -> None:
    code = ann.ask("POST", "/api/account/links", {})["code"]
    visitor, host = Visitor(server.url), "minga.example"
    answer = visitor.ask(
        "POST", "/api/sign-in/link", {"code": code, "name": "dave"}, 403, Host=host, Origin=f"http://{host}"
    )
    assert "https" in sentence(answer)
    visitor.ask("POST", "/api/sign-in/link", {"code": code, "name": f"dave{next(NUMBERS)}"})


def test_tries_to_sign_in_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Slow machines must not gain a try while these are counted.
    monkeypatch.setenv("MINGA_SIGN_INS_PER_MINUTE", "1")
    write_task(tmp_path / "tasks" / "tiny")
    with running(tmp_path / "tasks", tmp_path / "data") as server:
        guesser, guess = Visitor(server.url), {"code": "x" * 43}
        told = [guesser.ask("POST", "/api/sign-in/link/look", guess, status) for status in (401, 429)]
        assert "Wait a minute" in sentence(told[1])


def test_the_first_link_is_told_until_somebody_has_used_it(tmp_path: Path) -> None:
    write_task(tmp_path / "tasks" / "tiny")
    with running(tmp_path / "tasks", tmp_path / "data") as server:
        first = server.report["owner_link"].partition("#")[2]
    with running(tmp_path / "tasks", tmp_path / "data") as server:
        Visitor(server.url).ask("POST", "/api/sign-in/link", {"code": first, "name": "ann"}, 401)
        ann = operator(server)
    with running(tmp_path / "tasks", tmp_path / "data") as server:
        assert "owner_link" not in server.report
        ann.host = server.url.removeprefix("http://")
        assert ann.ask("GET", "/api/account")["account"]["name"] == "ann"


def test_the_command_makes_a_link_while_the_server_runs(ann: Visitor, server: Server, folder: Path) -> None:
    def link(*words: str) -> subprocess.CompletedProcess[str]:
        return run(Preload.SERVER, "backend", "account", "link", *words)

    made = link("ann", "--data-dir", str(folder / "data"), "--server", server.url)
    address, _, code = made.stdout.strip().partition("#")
    assert address == f"http://localhost:{server.url.rpartition(':')[2]}/sign-in"
    assert Visitor(server.url).ask("POST", "/api/sign-in/link", {"code": code}) == {"account": "ann"}
    unknown = link("nobody", "--data-dir", str(folder / "data"))
    assert unknown.returncode == 2
    assert "Accounts: ann" in unknown.stderr
    nothing = link("--data-dir", str(folder))
    assert "--data-dir" in nothing.stderr


def test_a_password_signs_in_and_a_new_one_ends_other_sessions(bob: Visitor, server: Server) -> None:
    name = bob.ask("GET", "/api/account")["account"]["name"]
    bob.ask("PUT", "/api/account/password", {"password": PASSWORD})
    assert bob.ask("GET", "/api/account")["password"] is True
    again = Visitor(server.url)
    told = again.ask("POST", "/api/sign-in/password", {"name": name, "password": "not the right one"}, 401)
    assert "wrong" in sentence(told)
    assert again.ask("POST", "/api/sign-in/password", {"name": name, "password": PASSWORD}) == {
        "account": name
    }
    bob.ask("PUT", "/api/account/password", {"password": PASSWORD + "!"})
    assert again.ask("GET", "/api/account") == {"account": None}
    assert bob.ask("GET", "/api/account")["account"] is not None
    bob.ask("DELETE", "/api/account/password")
    again.ask("POST", "/api/sign-in/password", {"name": name, "password": PASSWORD + "!"}, 401)


def test_a_program_sets_no_password(ann: Visitor) -> None:
    script = program(ann, "administer")
    script.ask("PUT", "/api/account/password", {"password": PASSWORD}, 401)
    script.ask("POST", "/api/account/passkeys/options", {}, 401)


@pytest.mark.parametrize(
    "credential",
    [
        {},
        {"id": "x", "response": {}},
        {"id": "x", "response": {"clientDataJSON": "AAAA"}},
        {"id": "x", "response": {"clientDataJSON": "eyJjaGFsbGVuZ2UiOiJ4In0"}},
        {"id": "x", "response": {"clientDataJSON": 7}},
        {"id": "x", "response": []},
    ],
)
def test_a_passkey_that_answers_no_question_is_refused(bob: Visitor, credential: dict[str, object]) -> None:
    address = {"Host": f"localhost:{bob.host.partition(':')[2]}"}
    address["Origin"] = f"http://{address['Host']}"
    for path in ("/api/sign-in/passkey", "/api/account/passkeys"):
        assert "took too long" in sentence(bob.ask("POST", path, {"credential": credential}, 401, **address))


def test_passkeys_are_not_offered_at_a_number(bob: Visitor) -> None:
    assert "http://localhost" in sentence(bob.ask("POST", "/api/account/passkeys/options", {}, 400))
    assert "http://localhost" in sentence(bob.ask("POST", "/api/sign-in/passkey/options", {}, 400))


def test_pages_lead_to_the_sign_in_and_show_the_account(bob: Visitor, server: Server) -> None:
    nobody = Visitor(server.url)
    nobody.ask("GET", "/account", status=303, Accept="text/html")
    assert "Sign in" in nobody.ask("GET", "/sign-in", Accept="text/html")
    page = bob.ask("GET", "/account", Accept="text/html")
    assert "Sign out" in page
    assert "Invite an owner" not in page


def test_the_log_holds_no_secret(ann: Visitor, bob: Visitor, server: Server, folder: Path) -> None:
    script = program(bob, "inspect")
    script.ask("GET", "/api/account")
    written = (folder / "log").read_text("utf-8")
    secrets = [ann.cookies["minga_session"], bob.cookies["minga_session"], script.token or ""]
    secrets.append(server.report["owner_link"].partition("#")[2])
    assert not any(secret in written for secret in secrets)
    kept = b"".join(path.read_bytes() for path in (folder / "data").glob("records.sqlite*"))
    assert not any(secret.encode() in kept for secret in secrets)
