"""`minga account`: creates sign-in links for owners, on the server's own machine."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from backend.commands.server_client import add_server_option, server_at
from backend.errors import NotFoundError, StoreError
from backend.server.accounts.accounts import access_to
from backend.settings import read_settings
from backend.stores.database import Database
from backend.stores.embedded import RECORDS
from backend.stores.sql_access import SqlAccess
from backend.stores.sqlite import sqlite_database

# Addresses of this machine; links to them use `localhost`, because passkeys need a name.
_LOCAL_ADDRESSES = ("127.0.0.1", "0.0.0.0", "::1", "::")  # noqa: S104 - compared, not bound.

# Shown at the end of the help.
EXAMPLES = ("minga account link",)


def register(subparsers: Any) -> None:
    """Adds the command and its actions."""
    parser: argparse.ArgumentParser = subparsers.add_parser("account", examples=EXAMPLES)
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    link = actions.add_parser(
        "link",
        help="print a one-time sign-in link, for a new or locked-out account",
        examples=("minga account link", "minga account link maria --data-dir data"),
    )
    link.add_argument("name", metavar="NAME", nargs="?", help="the account; without it the operator's")
    link.add_argument("--data-dir", type=Path, help="folder of the server (MINGA_DATA_DIR)")
    add_server_option(link)
    link.add_argument("--json", action="store_true", help="report in JSON")
    link.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Creates a link and prints it, even while the server runs. Raises NotFoundError or StoreError."""
    flags = {"data_dir": args.data_dir}
    records = read_settings(flags, os.environ).data_dir / RECORDS
    if not records.is_file():
        raise StoreError(
            f"There are no records in {records.parent}. Name the server's folder with --data-dir."
        )
    address = sign_in_address(server_at(args.server).url, asyncio.run(_link(records, args.name)))
    print(json.dumps({"link": address}) if args.json else address)
    return 0


def sign_in_address(url: str, code: str) -> str:
    """Returns the address for a link's `code`, which is in the fragment so that no log contains it."""
    parts = urlsplit(url)
    if parts.hostname in _LOCAL_ADDRESSES:
        port = f":{parts.port}" if parts.port else ""
        url = f"{parts.scheme}://localhost{port}"
    return f"{url}/sign-in#{code}"


async def _link(path: Path, name: str | None) -> str:
    database = sqlite_database(path)
    try:
        return await _make(database, name)
    finally:
        await database.close()


async def _make(database: Database, name: str | None) -> str:
    access = access_to(SqlAccess(database), time.time)
    accounts = await access.records.accounts()
    operators = [account for account in accounts if account.operator]
    if name is None and not operators:
        return await access.links.make(operator=True)
    if name is None and len(operators) == 1:
        return await access.links.make(account=operators[0].id)
    for account in accounts:
        if account.name == name:
            return await access.links.make(account=account.id)
    names = ", ".join(account.name for account in accounts) or "none"
    raise NotFoundError(f"Name the account: minga account link NAME. Accounts: {names}.")
