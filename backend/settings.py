"""Reads the server's settings: from flags, else the environment (MINGA_*), else the defaults below."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

import backend
from backend.errors import SettingsError
from backend.protocols.units.server_pool import PoolRules
from backend.server.alerting.mail import NO_MAIL, OutgoingMail, Security
from backend.server.alerting.messenger import NO_DESTINATIONS, AlertDestinations
from backend.server.alerting.webhook import origin_of
from backend.server.drafts.limits import DraftLimits
from backend.server.hosting.limits import TaskLimits
from backend.server.mesh.ice_servers import NO_ICE, IceServers
from backend.server.units.parameters.server_pool import IN_MEMORY, ParameterDeployment
from backend.stores.parameters.place import MEMORY, check_address, with_password
from backend.wire.codec import MAX_CLIENT_FRAME

HOST = "127.0.0.1"
PORT = 8000
# Messages: at most the protocol's longest, and long enough that chunks do not count as short messages.
# Relay: at least one parcel a second, so that a peer can send a parcel without waiting.
RANGES = {
    "max_message_bytes": (128 << 10, MAX_CLIENT_FRAME),
    "relay_bytes_per_second": (128 << 10, 10**9),
}
MAX_ICE_URLS = 8
MAX_PARAMETER_SERVERS = 32
ICE_SCHEMES = ("stun:", "stuns:", "turn:", "turns:")

Network: TypeAlias = IPv4Network | IPv6Network
LogFormat = Literal["console", "json"]
LogLevel = Literal["debug", "info", "warning", "error"]


@dataclass(frozen=True)
class ServerLimits(TaskLimits, DraftLimits):
    """Limits of one server on what its clients may use (MINGA_MAX_CONNECTIONS and so on)."""

    max_connections: int = 4000
    max_connections_per_address: int = 512
    joins_per_minute: int = 240
    requests_per_minute: int = 30_000
    sign_ins_per_minute: int = 10
    max_head_bytes: int = 32 << 10
    request_seconds: int = 20
    keep_alive_seconds: int = 5
    hello_seconds: int = 10
    idle_seconds: int = 40
    max_queued_bytes: int = 4 << 20
    frames_per_second: int = 100
    pings_per_second: int = 5
    exports_megabytes: int = 4000


@dataclass(frozen=True)
class Settings:
    """Settings of a server. `port` 0 binds a free port; `overrides` are `task.table.key=value`.

    `hooks` lets task files run programs on the server. `ice` lists the ICE servers with which peers of
    decentralized tasks connect. `alert_destinations` says where alerts may be sent, `parameters` where the
    parameters of work-unit tasks are stored.
    """

    data_dir: Path
    tasks: tuple[Path, ...]
    host: str = HOST
    port: int = PORT
    overrides: tuple[str, ...] = ()
    json: bool = False
    hooks: bool = False
    metrics_token: str | None = None
    log_format: LogFormat = "console"
    log_level: LogLevel = "info"
    trusted_proxies: tuple[Network, ...] = ()
    limits: ServerLimits = ServerLimits()
    ice: IceServers = NO_ICE
    alert_destinations: AlertDestinations = NO_DESTINATIONS
    parameters: ParameterDeployment = IN_MEMORY

    @property
    def assets(self) -> Path:
        """Returns the folder that contains `webapp/` and `models/`."""
        return assets_folder()

    @property
    def dist(self) -> Path:
        """Returns the folder of the built web app, which may be missing."""
        return dist_folder()

    @property
    def site(self) -> Path:
        """Returns the folder of the documentation's pages, which may be missing."""
        return site_folder()

    @property
    def ops_file(self) -> Path:
        """Returns the path of the op allow-list, a data file of the converter."""
        return ops_file()


def read_settings(flags: Mapping[str, Any], environment: Mapping[str, str]) -> Settings:
    """Returns the settings from parsed flags (None if absent) and the environment. Raises SettingsError."""
    tasks = flags.get("tasks") or [
        path for path in environment.get("MINGA_TASKS", "").split(os.pathsep) if path
    ]
    return Settings(
        data_dir=_absolute(_first(flags, environment, "data_dir") or _default_data_dir(environment)),
        tasks=tuple(_absolute(task) for task in tasks) or (assets_folder() / "models",),
        host=_first(flags, environment, "host") or HOST,
        port=_port(_first(flags, environment, "port")),
        overrides=tuple(flags.get("overrides") or ()),
        json=bool(flags.get("json")),
        hooks=bool(flags.get("hooks")) or environment.get("MINGA_HOOKS") == "1",
        metrics_token=_token(_first(flags, environment, "metrics_token_file")),
        log_format=_one_of(LogFormat, flags, environment, "log_format", "console"),
        log_level=_one_of(LogLevel, flags, environment, "log_level", "info"),
        trusted_proxies=_networks(environment, "MINGA_TRUSTED_PROXIES"),
        limits=_limits(environment),
        ice=_ice(environment),
        alert_destinations=AlertDestinations(_origins(environment), _mailbox(environment)),
        parameters=_parameters(flags, environment),
    )


def assets_folder() -> Path:
    """Returns the folder of templates, web app and gallery: beside the installed package, or the checkout."""
    installed = _root() / "minga_assets"
    return installed if installed.is_dir() else _root()


def dist_folder() -> Path:
    """Returns the folder of the built web app (see Settings.dist)."""
    return assets_folder() / "webapp" / "static" / "dist"


def site_folder() -> Path:
    """Returns the folder of the documentation's pages (see Settings.site)."""
    return assets_folder() / "webapp" / "docs" / "dist"


def ops_file() -> Path:
    """Returns the path of the op allow-list (see Settings.ops_file)."""
    return _root() / "converter" / "ops.json"


def _root() -> Path:
    assert backend.__file__ is not None  # noqa: S101 - a package with an __init__ has a file.
    return Path(backend.__file__).resolve().parents[1]


def _absolute(path: str | Path) -> Path:
    """Returns the path as absolute: processes that get it have working folders of their own."""
    return Path(path).expanduser().absolute()


def _first(flags: Mapping[str, Any], environment: Mapping[str, str], name: str) -> str | None:
    flag = flags.get(name)
    return str(flag) if flag is not None else environment.get(f"MINGA_{name.upper()}")


def _ice(environment: Mapping[str, str]) -> IceServers:
    urls = tuple(url for url in environment.get("MINGA_ICE_SERVERS", "").replace(",", " ").split() if url)
    for url in urls:
        if not url.startswith(ICE_SCHEMES):
            raise SettingsError(
                f"MINGA_ICE_SERVERS has '{url}'; give addresses such as stun:stun.example.org:3478 and "
                "turn:turn.example.org:3478, with commas between them."
            )
    if len(urls) > MAX_ICE_URLS:
        raise SettingsError(f"MINGA_ICE_SERVERS has {len(urls)} addresses; {MAX_ICE_URLS} are the most.")
    username = environment.get("MINGA_TURN_USERNAME", "")
    credential = _secret("password", environment.get("MINGA_TURN_PASSWORD_FILE"))
    secret = _secret("secret", environment.get("MINGA_TURN_SECRET_FILE"))
    turn = any(url.startswith("turn") for url in urls)
    if turn and not secret and not (username and credential):
        raise SettingsError(
            "A TURN server needs a password: set MINGA_TURN_SECRET_FILE (coturn's static-auth-secret), or "
            "MINGA_TURN_USERNAME and MINGA_TURN_PASSWORD_FILE."
        )
    return IceServers(urls, username, credential or "", secret or "")


def _origins(environment: Mapping[str, str]) -> frozenset[str]:
    urls = environment.get("MINGA_WEBHOOK_ORIGINS", "").replace(",", " ").split()
    try:
        return frozenset(map(origin_of, urls))
    except ValueError as error:
        raise SettingsError(
            f"MINGA_WEBHOOK_ORIGINS: {error}. Give origins with commas between them, such as "
            "https://hooks.example.org,https://chat.example.org:8443."
        ) from error


def _mailbox(environment: Mapping[str, str]) -> OutgoingMail:
    host, sender = environment.get("MINGA_SMTP_HOST", ""), environment.get("MINGA_SMTP_SENDER", "")
    if host and "@" not in sender:
        raise SettingsError("MINGA_SMTP_SENDER is the address of alerts' sender, such as minga@example.org.")
    return OutgoingMail(
        host=host,
        port=_port(environment.get("MINGA_SMTP_PORT", str(NO_MAIL.port))),
        sender=sender,
        username=environment.get("MINGA_SMTP_USERNAME", ""),
        password=_secret("password", environment.get("MINGA_SMTP_PASSWORD_FILE")) or "",
        security=_one_of(Security, {}, environment, "smtp_security", NO_MAIL.security),
    )


def _parameters(flags: Mapping[str, Any], environment: Mapping[str, str]) -> ParameterDeployment:
    address = _first(flags, environment, "parameters") or MEMORY
    try:
        check_address(address)
    except ValueError as error:
        raise SettingsError(f"--parameters: {error}.") from error
    password = _secret("password", environment.get("MINGA_PARAMETERS_PASSWORD_FILE"))
    if password and address != MEMORY:
        address = with_password(address, password)
    return ParameterDeployment(address, read_pool(_first(flags, environment, "parameter_servers")))


def read_pool(text: str | None) -> PoolRules:
    """Parses the size of the server pool: `3` is a fixed size, `1-4` a range that adapts to the load.

    Raises SettingsError.
    """
    if text is None:
        return PoolRules()
    numbers = re.fullmatch(r"([0-9]{1,3})(?:-([0-9]{1,3}))?", text)
    minimum, maximum = (int(numbers[1]), int(numbers[2] or numbers[1])) if numbers else (0, 0)
    if not 1 <= minimum <= maximum <= MAX_PARAMETER_SERVERS:
        raise SettingsError(
            f"--parameter-servers is '{text}'; give a number such as 3, or a range such as 1-4, up to "
            f"{MAX_PARAMETER_SERVERS}."
        )
    return PoolRules(least=minimum, most=maximum)


def _secret(what: str, file: str | None) -> str | None:
    if file is None:
        return None
    try:
        return Path(file).expanduser().read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"The {what} in {file} cannot be read ({error}).") from error


def _token(file: str | None) -> str | None:
    token = _secret("token", file)
    if token is None:
        return None
    if len(token) < 16:
        raise SettingsError(f"The token in {file} has {len(token)} characters; take 16 or more random ones.")
    return token


def _one_of(
    literal: Any, flags: Mapping[str, Any], environment: Mapping[str, str], name: str, default: str
) -> Any:
    word = _first(flags, environment, name) or default
    if word not in get_args(literal):
        choices = ", ".join(get_args(literal))
        raise SettingsError(f"--{name.replace('_', '-')} is one of {choices}; '{word}' is not.")
    return word


def _limits(environment: Mapping[str, str]) -> ServerLimits:
    limits: dict[str, int] = {}
    for field in fields(ServerLimits):
        name = f"MINGA_{field.name.upper()}"
        text = environment.get(name)
        if text is None:
            continue
        if not re.fullmatch(r"[1-9][0-9]{0,8}", text):
            raise SettingsError(f"{name} is '{text}'; give a whole number above zero.")
        minimum, maximum = RANGES.get(field.name, (1, 10**9))
        if not minimum <= int(text) <= maximum:
            raise SettingsError(f"{name} is {text}; give a number from {minimum} to {maximum}.")
        limits[field.name] = int(text)
    return ServerLimits(**limits)


def _networks(environment: Mapping[str, str], name: str) -> tuple[Network, ...]:
    texts = [text.strip() for text in environment.get(name, "").split(",") if text.strip()]
    try:
        return tuple(ip_network(text, strict=False) for text in texts)
    except ValueError as error:
        raise SettingsError(
            f"{name}: {error}. Give addresses or networks with commas between them, such as "
            "127.0.0.1,10.0.0.0/8."
        ) from error


def _port(text: str | None) -> int:
    if text is None:
        return PORT
    if not text.isdecimal() or int(text) > 65535:
        raise SettingsError(f"'{text}' is not a port; give a number from 0 (any free one) to 65535.")
    return int(text)


def _default_data_dir(environment: Mapping[str, str]) -> Path:
    home = environment.get("XDG_DATA_HOME")
    return (Path(home) if home else Path.home() / ".local" / "share") / "minga"
