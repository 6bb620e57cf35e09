from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import pytest

from backend.errors import SettingsError
from backend.settings import ServerLimits, assets_folder, read_settings

REFERENCE = Path(__file__).parents[2] / "docs/reference/settings.md"
UNITS = {"_seconds": "seconds", "_bytes": "bytes", "_bytes_per_second": "bytes a second"}


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
    assert read_settings({}, {"MINGA_TASKS": "/a:/b"}).tasks == (Path("/a"), Path("/b"))
    assert read_settings({"tasks": [Path("/c")]}, {"MINGA_TASKS": "/a"}).tasks == (Path("/c"),)


def test_folders_are_absolute_so_that_processes_with_other_working_folders_find_them() -> None:
    settings = read_settings({"data_dir": Path("../data"), "tasks": [Path("tasks")]}, {})
    assert settings.data_dir == Path.cwd() / "../data"
    assert settings.tasks == (Path.cwd() / "tasks",)
    assert read_settings({"data_dir": "~/data"}, {}).data_dir == Path.home() / "data"
    assert read_settings({}, {"MINGA_DATA_DIR": "data"}).data_dir == Path.cwd() / "data"


@pytest.mark.parametrize("port", ["-1", "65536", "http", "", "80.5"])
def test_what_is_no_port_is_refused(port: str) -> None:
    with pytest.raises(SettingsError, match="is not a port"):
        read_settings({"port": port}, {})


def test_the_allow_list_is_found() -> None:
    assert read_settings({}, {}).ops_file.is_file()


def test_limits_come_from_the_environment() -> None:
    limits = read_settings({}, {"MINGA_MAX_CONNECTIONS": "9", "MINGA_REQUEST_SECONDS": "3"}).limits
    assert (limits.max_connections, limits.request_seconds) == (9, 3)
    assert limits.max_head_bytes == ServerLimits().max_head_bytes


@pytest.mark.parametrize("value", ["0", "-1", "many", "", "1.5", "9" * 10])
def test_a_limit_is_a_whole_number_above_zero(value: str) -> None:
    with pytest.raises(SettingsError, match=r"MINGA_MAX_CONNECTIONS is .*; give a whole number"):
        read_settings({}, {"MINGA_MAX_CONNECTIONS": value})


@pytest.mark.parametrize("value", ["131071", "263169"])
def test_messages_are_neither_too_short_for_chunks_nor_too_long_for_the_protocol(value: str) -> None:
    with pytest.raises(SettingsError, match="from 131072 to 263168"):
        read_settings({}, {"MINGA_MAX_MESSAGE_BYTES": value})


@pytest.mark.parametrize("value", ["300.0.0.1", "10.0.0.0/33", "proxy.example"])
def test_a_proxy_is_an_address_or_a_network(value: str) -> None:
    with pytest.raises(SettingsError, match=r"MINGA_TRUSTED_PROXIES: .*127\.0\.0\.1,10\.0\.0\.0/8"):
        read_settings({}, {"MINGA_TRUSTED_PROXIES": f"127.0.0.1,{value}"})
    assert read_settings({}, {"MINGA_TRUSTED_PROXIES": ""}).trusted_proxies == ()


class Noting(dict[str, str]):
    """An empty environment that notes what is asked of it."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: set[str] = set()

    def get(self, key: str, default: object = None) -> None:  # type: ignore[override]
        self.asked.add(key)
        return default  # type: ignore[return-value]


def rows(heading: str) -> Iterator[list[str]]:
    """Cells of the table under `heading` of the reference."""
    section = REFERENCE.read_text("utf-8").partition(f"## {heading}\n")[2].partition("\n## ")[0]
    for line in re.findall(r"^\| `MINGA_.*$", section, re.MULTILINE):
        yield [cell.strip(" `") for cell in line.strip("|").split(" | ")]


def test_the_reference_has_every_setting_and_no_other() -> None:
    environment = Noting()
    read_settings({}, environment)
    documented = [row[0] for heading in ("How it runs", "Limits") for row in rows(heading)]
    assert sorted(documented) == sorted(name for name in environment.asked if name.startswith("MINGA_"))


def test_the_reference_has_every_limit_with_its_default_unit_and_reason() -> None:
    limits = {f"MINGA_{field.name.upper()}": (field.name, field.default) for field in fields(ServerLimits)}
    for name, default, unit, reason in rows("Limits"):
        field, value = limits.pop(name)
        assert default == str(value)
        for suffix, expected in UNITS.items():
            if field.endswith(suffix):
                assert unit == expected
        assert len(reason) > 30
    assert not limits


def test_the_reference_has_the_defaults_of_how_it_runs() -> None:
    settings = read_settings({}, {})
    documented = {row[0].removeprefix("MINGA_").lower(): row[2] for row in rows("How it runs")}
    for name in ("host", "port", "log_format", "log_level"):
        assert documented[name] == str(getattr(settings, name))


def test_parameters_stand_in_memory_unless_told_otherwise() -> None:
    usual = read_settings({}, {}).parameters
    assert (usual.address, usual.rules.least, usual.rules.most) == ("memory", 1, 4)
    told = read_settings(
        {"parameter_servers": "2-3"}, {"MINGA_PARAMETERS": "redis://localhost/0?shards=4"}
    ).parameters
    assert (told.address, told.rules.least, told.rules.most) == ("redis://localhost/0?shards=4", 2, 3)
    fixed = read_settings({"parameters": "memory"}, {"MINGA_PARAMETER_SERVERS": "5"}).parameters
    assert (fixed.rules.least, fixed.rules.most) == (5, 5)


def test_the_password_of_parameters_comes_from_a_file(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("hush\n")
    environment = {"MINGA_PARAMETERS_PASSWORD_FILE": str(secret)}
    settings = read_settings({"parameters": "redis://localhost/0"}, environment)
    assert settings.parameters.address == "redis://:hush@localhost/0"
    assert "hush" not in repr(settings)
    assert read_settings({}, environment).parameters.address == "memory"


@pytest.mark.parametrize("text", ["0", "4-2", "0-3", "1-33", "many", "", "1-2-3", "-2"])
def test_parameter_servers_are_a_number_or_a_range(text: str) -> None:
    with pytest.raises(SettingsError, match="--parameter-servers is"):
        read_settings({}, {"MINGA_PARAMETER_SERVERS": text})


def test_parameters_cannot_stand_anywhere() -> None:
    with pytest.raises(SettingsError, match="--parameters: 'mysql://localhost' is not a place"):
        read_settings({"parameters": "mysql://localhost"}, {})
