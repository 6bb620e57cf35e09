"""Reads the user's API tokens from the environment or from a file that only the user can read."""

from __future__ import annotations

import os
import stat
import sys
import tomllib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from backend.commands.server_client import ServerClient, keeps_secrets, server_at
from backend.errors import SettingsError

VARIABLE = "MINGA_TOKEN"
REMEDY = f"make one on the server's page /account, and put it into {VARIABLE} or"


def tokens_file(environment: Mapping[str, str]) -> Path:
    """Returns the path of the tokens, one per line: `"https://minga.example.org" = "minga_..."`."""
    home = environment.get("XDG_CONFIG_HOME")
    return (Path(home) if home else Path.home() / ".config") / "minga" / "tokens.toml"


def token_for(url: str, environment: Mapping[str, str] = os.environ) -> str | None:
    """Returns the token for the server at `url`, which has no trailing slash; None if there is none.

    Raises SettingsError if other users can read the file, or if it is not valid.
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
        raise SettingsError(f"Others can read the tokens in {path}; make the file private: chmod 600 {path}")
    try:
        tokens = tomllib.loads(content)
    except ValueError as error:
        raise SettingsError(f"{path} is not valid TOML: {error}.") from error
    token = {key.rstrip("/"): value for key, value in tokens.items()}.get(url)
    if token is not None and not isinstance(token, str):
        raise SettingsError(f'{path} has no text for {url}; write "{url}" = "minga_..." there.')
    return token


def needed(url: str, environment: Mapping[str, str] = os.environ) -> str:
    """Returns the token like `token_for`; raises SettingsError, with a remedy, if there is none."""
    token = token_for(url, environment)
    if token is None:
        raise SettingsError(f"This needs an API token: {REMEDY} {tokens_file(environment)}.")
    return token


def reading_server(address: str) -> ServerClient:
    """Returns a client with the user's token if there is one, so that private tasks are read, too."""
    server = server_at(address)
    # Without encryption the token is not sent, and only open tasks are read.
    return replace(server, token=token_for(server.url)) if keeps_secrets(server.url) else server
