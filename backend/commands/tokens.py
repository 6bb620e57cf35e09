"""API tokens of whoever sits at this terminal: from the environment, or a file that is theirs alone."""

from __future__ import annotations

import os
import stat
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path

from backend.errors import SettingsError

VARIABLE = "MINGA_TOKEN"
REMEDY = f"make one on the server's page /account, and put it into {VARIABLE} or"


def tokens_file(environment: Mapping[str, str]) -> Path:
    """Where tokens are kept: `"https://minga.example.org" = "minga_..."`, a line for each server."""
    home = environment.get("XDG_CONFIG_HOME")
    return (Path(home) if home else Path.home() / ".config") / "minga" / "tokens.toml"


def token_for(url: str, environment: Mapping[str, str] = os.environ) -> str | None:
    """The token for the server at `url`, without a slash at its end; None where there is none.

    Raises SettingsError for a file that others can read, or that cannot be understood.
    """
    if token := environment.get(VARIABLE):
        return token
    path = tokens_file(environment)
    try:
        content, mode = path.read_text("utf-8"), path.stat().st_mode
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"The tokens in {path} cannot be read ({error}).") from error
    if sys.platform != "win32" and mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise SettingsError(f"Others can read the tokens in {path}; keep them to yourself: chmod 600 {path}")
    try:
        found = tomllib.loads(content)
    except ValueError as error:
        raise SettingsError(f"{path} is not valid TOML: {error}.") from error
    token = {key.rstrip("/"): value for key, value in found.items()}.get(url)
    if token is not None and not isinstance(token, str):
        raise SettingsError(f'{path} has no text for {url}; write "{url}" = "minga_..." there.')
    return token


def needed(url: str, environment: Mapping[str, str] = os.environ) -> str:
    """As `token_for`. Raises SettingsError that says where to get one."""
    token = token_for(url, environment)
    if token is None:
        raise SettingsError(f"This needs an API token: {REMEDY} {tokens_file(environment)}.")
    return token
