"""A peer proves its work to a real server before it connects."""

from __future__ import annotations

import secrets
from pathlib import Path

import httpx
import pytest

from backend.peer.admission.work_proof import WorkProof
from backend.wire.client_id import client_id
from tests.support.attacks.newcomers_server import newcomers_server
from tests.support.peer.peer_process import joined
from tests.support.timeouts import HEAVY
from tests.support.web.rounds_client import Client
from tests.support.web.server_process import running

TOKEN = secrets.token_urlsafe(24)
MODELS = Path(__file__).parents[4] / "models"


class Told:
    """Keeps what a peer reports."""

    def __init__(self) -> None:
        self.sentences: list[str] = []

    def tell(self, event: str, sentence: str, **_facts: object) -> None:
        self.sentences.append(f"{event}: {sentence}")


async def test_a_peer_proves_its_work_once_and_says_how_far_it_is(tmp_path: Path) -> None:
    told = Told()
    access = 'newcomers = "work"\nwork = { bits = 12 }'
    async with httpx.AsyncClient() as http:
        with newcomers_server(tmp_path, access) as server:
            url = f"{server.url}/api/tasks/tiny/challenges/{client_id(TOKEN)}"
            prove = WorkProof(http, url, told)
            assert await prove() is None
            assert told.sentences[0].startswith(
                "work: This task asks newcomers for a proof of work, once: about 4,096"
            )
            assert [one.split(": ", 2)[2] for one in told.sentences[1:4]] == [
                "25% found.",
                "50% found.",
                "75% found.",
            ]
            async with Client(server.url, token=TOKEN) as client:
                assert client.id == client_id(TOKEN)
            assert await prove() is None
            assert len(told.sentences) == 5
        # The server is away.
        assert await prove()


async def test_more_work_than_a_peer_gives_is_refused() -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        assert request.method == "GET"
        return httpx.Response(200, json={"challenge": f"1.{'0' * 64}", "bits": 40})

    async with httpx.AsyncClient(transport=httpx.MockTransport(answer)) as http:
        assert "asks for 2^40 hashes" in (await WorkProof(http, "http://minga/", Told())() or "")


@pytest.mark.long
@pytest.mark.timeout(HEAVY)
def test_a_peer_joins_a_task_that_asks_for_work_and_trains(tmp_path: Path) -> None:
    values = ("coordination.min_available_clients=1", "access.newcomers=work", "access.work={ bits = 14 }")
    flags = [word for value in values for word in ("--set", f"digits.{value}")]
    with running(MODELS / "digits", tmp_path / "data", *flags) as server:
        with joined(tmp_path / "home", server.url) as peer:
            assert peer.expect("work", HEAVY)["hashes"] == 2**14
            peer.expect("accepted", HEAVY)
        with joined(tmp_path / "home", server.url) as peer:
            peer.expect("accepted", HEAVY)
            assert "work" not in {news["event"] for news in peer.seen}
