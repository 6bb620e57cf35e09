"""The form of the sign-in page refuses what its API refuses: other sites, guesses, and what is no form."""

from __future__ import annotations

from collections.abc import Iterator
from http.client import HTTPConnection
from urllib.parse import urlencode, urlsplit

import pytest

from tests.support.tasks.tiny_task import write_task
from tests.support.timeouts import PATIENCE
from tests.support.web.server_process import Server, running
from tests.support.web.visitors import Visitor, operator

PHRASE = "a long password of ann"
FORM = "application/x-www-form-urlencoded"


@pytest.fixture
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("form")
    write_task(folder / "tasks" / "tiny")
    with running(folder / "tasks", folder / "data") as server:
        operator(server).ask("PUT", "/api/account/password", {"password": PHRASE})
        yield server


def post(server: Server, body: str | bytes, kind: str = FORM, **headers: str) -> tuple[int, str | None, str]:
    """Returns status, cookie and text of the answer to a form that the server's own page sends."""
    host = urlsplit(server.url).netloc
    sent = {"Content-Type": kind, "Origin": f"http://{host}", "Sec-Fetch-Site": "same-origin"}
    sent |= {name.replace("_", "-"): value for name, value in headers.items()}
    connection = HTTPConnection(host, timeout=PATIENCE)
    try:
        connection.request("POST", "/sign-in", body, sent)
        answer = connection.getresponse()
        return answer.status, answer.headers["Set-Cookie"], answer.read().decode("utf-8", "replace")
    finally:
        connection.close()


def test_a_page_of_another_site_signs_nobody_in(server: Server) -> None:
    body = urlencode({"name": "ann", "password": PHRASE})
    for foreign in ({"Origin": "https://evil.example"}, {"Sec_Fetch_Site": "cross-site"}):
        status, cookie, _ = post(server, body, **foreign)
        assert (status, cookie) == (403, None)
    status, cookie, _ = post(server, body)
    assert status == 303
    assert cookie is not None


@pytest.mark.parametrize(
    ("body", "kind", "status"),
    [
        (urlencode({"name": "ann", "password": "wrong and long"}), FORM, 401),
        (urlencode({"name": "nobody", "password": PHRASE}), FORM, 401),
        (urlencode({"name": "ann"}), FORM, 401),
        (urlencode({"name": "ann", "password": "x" * 3000}), FORM, 400),
        (urlencode({"code": "z" * 32, "name": "eve"}), FORM, 401),
        (urlencode({"code": ""}), FORM, 400),
        (urlencode({"name": "x" * 9000}), FORM, 413),
        ("&".join(f"a{n}=1" for n in range(99)), FORM, 400),
        (b"name=%ff&password=%fe", FORM, 400),
        ("{}", "application/json", 400),
        ("", FORM, 400),
    ],
)
def test_what_cannot_sign_in_gets_the_page_again_with_a_reason(
    server: Server, body: str | bytes, kind: str, status: int
) -> None:
    got, cookie, page = post(server, body, kind)
    assert (got, cookie) == (status, None)
    assert 'role="alert" data-problem lang="en">' in page
    assert PHRASE not in page


def test_names_are_shown_as_text(server: Server) -> None:
    _, _, page = post(
        server, urlencode({"name": '"><script>alert(1)</script>', "password": "wrong and long"})
    )
    assert "<script>alert(1)" not in page


def test_guesses_are_slowed_down(server: Server) -> None:
    statuses = [post(server, urlencode({"name": "ann", "password": f"guess {n}"}))[0] for n in range(40)]
    assert statuses[0] == 401
    assert statuses[-1] == 429
    visitor = Visitor(server.url)
    visitor.ask("POST", "/api/sign-in/password", {"name": "ann", "password": PHRASE}, status=429)
