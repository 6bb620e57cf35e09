"""Each scheme of the task file has its host, its socket and its page."""

from __future__ import annotations

from pathlib import Path
from typing import get_args, get_type_hints

from backend.formats.task_file.coordination import Coordination
from backend.server.schemes import SCHEMES
from backend.web.schemes import WEB_SCHEMES

TEMPLATES = Path(__file__).parents[3] / "webapp" / "templates"


def test_the_tables_have_exactly_the_schemes_of_task_files() -> None:
    names = set(get_args(get_type_hints(Coordination)["scheme"]))
    assert SCHEMES.keys() == WEB_SCHEMES.keys() == names
    assert all(scheme.name == name for name, scheme in SCHEMES.items())


def test_no_two_schemes_share_a_subprotocol_or_a_page() -> None:
    assert len({scheme.socket.protocol for scheme in SCHEMES.values()}) == len(SCHEMES)
    assert len({scheme.training for scheme in WEB_SCHEMES.values()}) == len(WEB_SCHEMES)


def test_each_scheme_has_its_page() -> None:
    assert all((TEMPLATES / scheme.training).is_file() for scheme in WEB_SCHEMES.values())
