from __future__ import annotations

from pathlib import Path

import pytest

from backend.errors import SettingsError
from backend.settings import Limits, assets_folder, read_settings


def test_flags_win_over_the_environment_and_that_over_defaults() -> None:
    environment = {"MINGA_HOST": "0.0.0.0", "MINGA_PORT": "9000", "MINGA_DATA_DIR": "/srv/minga"}  # noqa: S104
    settings = read_settings({"port": "0", "host": None}, environment)
    assert (settings.port, settings.host, settings.data_dir) == (0, "0.0.0.0", Path("/srv/minga"))  # noqa: S104
    assert read_settings({}, {}).port == 8000
    assert read_settings({}, {}).host == "127.0.0.1"


def test_the_data_folder_is_where_the_desktop_keeps_such_things() -> None:
    assert read_settings({}, {"XDG_DATA_HOME": "/data"}).data_dir == Path("/data/minga")
    assert read_settings({}, {}).data_dir == Path.home() / ".local" / "share" / "minga"


def test_tasks_are_the_gallery_unless_told_otherwise() -> None:
    assert read_settings({}, {}).tasks == (assets_folder() / "models",)
    assert read_settings({}, {"MINGA_TASKS": "a:b"}).tasks == (Path("a"), Path("b"))
    assert read_settings({"tasks": [Path("c")]}, {"MINGA_TASKS": "a"}).tasks == (Path("c"),)


@pytest.mark.parametrize("port", ["-1", "65536", "http", "", "80.5"])
def test_what_is_no_port_is_refused(port: str) -> None:
    with pytest.raises(SettingsError, match="is no port"):
        read_settings({"port": port}, {})


def test_the_allow_list_is_found() -> None:
    assert read_settings({}, {}).ops_file.is_file()


def test_limits_come_from_the_environment() -> None:
    limits = read_settings({}, {"MINGA_MAX_CONNECTIONS": "9", "MINGA_REQUEST_SECONDS": "3"}).limits
    assert (limits.max_connections, limits.request_seconds) == (9, 3)
    assert limits.max_head_bytes == Limits().max_head_bytes


@pytest.mark.parametrize("value", ["0", "-1", "many", "", "1.5", "9" * 10])
def test_a_limit_is_a_whole_number_above_zero(value: str) -> None:
    with pytest.raises(SettingsError, match=r"MINGA_MAX_CONNECTIONS is .*; give a whole number"):
        read_settings({}, {"MINGA_MAX_CONNECTIONS": value})
