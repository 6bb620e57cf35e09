"""Signs in by the forms of the sign-in page, which work without scripts."""

from __future__ import annotations

from typing import TypeVar

import msgspec
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from backend.errors import BadRequestError, MingaError
from backend.stores.access import AccountRecord
from backend.web.auth.cookies import refuse_readable
from backend.web.auth.credentials import NameAndPassword, account_by_password
from backend.web.auth.sign_in import LinkCode, account_by_link, begin_session, slow_down
from backend.web.pages.pages import render
from backend.web.requests.body import read_form
from backend.web.transport.security_headers import REFERRER

UNCACHED = {"Cache-Control": "no-store"}

Fields = TypeVar("Fields", NameAndPassword, LinkCode)


async def show_sign_in(request: Request) -> Response:
    """Renders the sign-in page; a sign-in link has its code in the URL fragment."""
    return _page(request, {}, "", 200)


async def sign_in_by_form(request: Request) -> Response:
    """Signs in by a name and a password, or by the code of a link; shows the page again if that fails."""
    fields: dict[str, str] = {}
    try:
        slow_down(request)
        refuse_readable(request)
        fields = await read_form(request)
        account = await _account(request, fields)
    except MingaError as error:
        return _page(request, fields, str(error), error.http_status)
    response = RedirectResponse("/account", 303, UNCACHED)
    await begin_session(request, account, response)
    return response


async def _account(request: Request, fields: dict[str, str]) -> AccountRecord:
    name = fields.get("name", "").strip()
    if "code" in fields:
        # People copy the whole address.
        code = fields["code"].strip().rpartition("#")[2]
        return await account_by_link(request, _checked({"code": code, "name": name}, LinkCode))
    told = {"name": name, "password": fields.get("password", "")}
    return await account_by_password(request, _checked(told, NameAndPassword))


def _checked(fields: dict[str, str], kind: type[Fields]) -> Fields:
    """Raises BadRequestError where a field is empty or too long."""
    try:
        return msgspec.convert(fields, kind)
    except msgspec.ValidationError as error:
        raise BadRequestError(f"This form cannot be used: {error}.") from None


def _page(request: Request, fields: dict[str, str], problem: str, status: int) -> Response:
    name = "" if "code" in fields else fields.get("name", "")
    page = render(request, "pages/sign-in.html", {"problem": problem, "name": name}, status)
    # Without a referrer browsers do not say, either, that a form comes from a page of this server.
    page.headers.update({**UNCACHED, REFERRER: "same-origin"})
    return page
