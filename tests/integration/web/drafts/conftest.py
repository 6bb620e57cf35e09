"""A server with small limits, its operator, and an owner with a draft."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.tasks.tiny_task import write_task
from tests.support.web.draft_client import Drafter
from tests.support.web.server_process import Server, running
from tests.support.web.visitors import Visitor, operator, owner, program


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("tus")
    write_task(folder / "tasks" / "tiny")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MINGA_SIGN_INS_PER_MINUTE", "1000")
        patch.setenv("MINGA_MAX_DRAFTS", "200")
        patch.setenv("MINGA_MAX_DATA_MIB", "1")
        with running(folder / "tasks", folder / "data") as server:
            yield server


@pytest.fixture(scope="module")
def ann(server: Server) -> Visitor:
    """The operator."""
    return operator(server)


@pytest.fixture(scope="module")
def bob(ann: Visitor) -> Drafter:
    """A program of an owner who is no operator."""
    return Drafter(program(owner(ann, "bob"), "create"))


@pytest.fixture
def draft(bob: Drafter) -> str:
    """The address of a new draft of bob's."""
    return bob.begin("cats")
