"""Table rows of drafts and accounts."""

from __future__ import annotations

from typing import get_args

from backend.server.drafts.dry_runs import browser_dry_runs
from backend.server.drafts.record import FILE_KINDS, JobKind
from backend.web.api.pictures import PictureBody
from backend.web.auth import accounts, credentials, sign_in
from backend.web.drafts import copies, drafts, estimates, reviews, starters, tus, uploads
from backend.web.openapi.rows import (
    BYTES,
    EMPTY,
    JSON,
    RANGE,
    ZIP,
    BodyContent,
    Parameter,
    Row,
    Schema,
    file,
    keys,
    number,
    one_of,
)

DRAFT = "/api/drafts/{id}"
_TOLD = keys("id", "created", "changed", "task", "readme", "files", "uploads", "jobs", "checklist", "devices")
_JOB = keys("state", "of", "asked", "ended", "log", "restarts", "result")
_JOBS = {"kind": one_of(*get_args(JobKind))}
_FILES = {"kind": one_of(*FILE_KINDS)}
_TOML = BodyContent(("application/toml",), {"type": "string"})
_TRIAL = keys("trial", "agent", "tried", "takers", "browsers", "payload")
_PICTURE = keys("kind", "tag", "text", "drawable", "uploaded")
_PICTURES = ("image/png", "image/jpeg", "image/webp")
_SIDE: Schema = {"type": "string", "pattern": "^(draft|task):.+$"}
_WHAT = "`draft:ID` or `task:NAME`."


def _header(name: str, text: str) -> Parameter:
    """Returns a header with a number of bytes."""
    schema: Schema = {"type": "integer", "minimum": 0, "maximum": 10**14}
    return Parameter(name, schema, text, "header", required=True)


_TUS = Parameter(tus.RESUMABLE, one_of(tus.VERSION), "The version of tus.", "header", required=True)
_METADATA = Parameter(
    uploads.METADATA,
    {"type": "string"},
    "The file's `filename` and, if it is known, its `sha256` in hexadecimal digits; values in base64.",
    "header",
    required=True,
)

_SIGNED_IN = {200: keys("account")}
_TRIES = (401, 403, 429)

ROWS: dict[str, Row] = {
    "GET /api/drafts": Row(
        "create",
        {200: keys("drafts")},
        parameters=(
            Parameter("name", {"type": "string", "maxLength": 64}, "A name that a new draft may be given."),
        ),
    ),
    "POST /api/drafts": Row("create", {201: _TOLD}, drafts.DraftBody, refusals=(409,)),
    f"GET {DRAFT}": Row("create", {200: _TOLD}),
    f"PATCH {DRAFT}": Row("create", {200: _TOLD}, drafts.TablesBody),
    f"DELETE {DRAFT}": Row("create", EMPTY),
    f"POST {DRAFT}/model": Row("create", {200: _TOLD}, drafts.FromTaskBody),
    f"POST {DRAFT}/starter": Row("create", {200: _TOLD}, starters.StarterBody, refusals=(409,)),
    f"GET {DRAFT}/task.toml": Row("create", {200: _TOML}),
    f"PUT {DRAFT}/task.toml": Row("create", {200: _TOLD}, _TOML),
    f"POST {DRAFT}/jobs": Row("create", {202: _JOB}, drafts.JobBody, refusals=(409,)),
    f"GET {DRAFT}/jobs/{{kind}}": Row(
        "create",
        {200: _JOB},
        parameters=(number("after", "Lines of the log that are known already."),),
        paths=_JOBS,
    ),
    f"DELETE {DRAFT}/jobs/{{kind}}": Row("create", EMPTY, paths=_JOBS),
    f"GET {DRAFT}/pictures/{{number}}": Row("create", {200: file("image/png")}),
    f"GET {DRAFT}/picture": Row("create", {200: _PICTURE}),
    f"PATCH {DRAFT}/picture": Row("create", {200: _PICTURE}, PictureBody, refusals=(422,)),
    f"PUT {DRAFT}/picture": Row(
        "create", {200: _PICTURE}, file(*_PICTURES), refusals=(400, 413, 422), note="At most 5 MB."
    ),
    f"GET {DRAFT}/picture/file": Row("create", {200: file("image/webp")}),
    f"POST {DRAFT}/task.toml/check": Row("create", {200: keys("problems")}, _TOML),
    f"POST {DRAFT}/preview": Row("create", {200: keys("html")}, reviews.MarkdownBody),
    f"GET {DRAFT}/review": Row("create", {200: keys("sections")}),
    f"GET {DRAFT}/shown/{{number}}/{{side}}": Row(
        "create", {200: file("image/png")}, paths={"side": one_of("before", "after")}
    ),
    f"POST {DRAFT}/estimate": Row(
        "create", {200: BodyContent((JSON,), {"type": "object"})}, estimates.AskCosts
    ),
    f"POST {DRAFT}/privacy": Row(
        "create", {200: BodyContent((JSON,), {"type": "object"})}, estimates.AskProtection
    ),
    f"GET {DRAFT}/trial": Row("create", {200: _TRIAL}),
    f"POST {DRAFT}/tried": Row("create", {200: _TRIAL}, browser_dry_runs.Report, refusals=(409,)),
    f"GET {DRAFT}/blobs/{{sha256}}": Row(
        "create",
        {200: file(BYTES), 206: file(BYTES), 304: None, 416: file(BYTES)},
        parameters=(RANGE,),
        refusals=(409,),
    ),
    "PUT /api/drafts/import": Row(
        "create",
        {201: _TOLD},
        file(*_TOML.types, ZIP),
        (Parameter("onward", one_of("1"), "1 has the server go on with the draft's work by itself."),),
        refusals=(408, 409, 422),
    ),
    f"GET {DRAFT}/export": Row(
        "create",
        {200: file(ZIP)},
        parameters=tuple(Parameter(kind, one_of("0"), f"0 leaves the {kind} out.") for kind in FILE_KINDS),
    ),
    f"POST {DRAFT}/clone": Row("create", {201: _TOLD}, copies.Copy),
    "POST /api/tasks/{name}/clone": Row(
        "edit", {201: _TOLD, 202: keys("state")}, copies.TaskCopy, refusals=(409, 410)
    ),
    "GET /api/differences": Row(
        "create",
        {200: keys("before", "after", "changes")},
        parameters=tuple(
            Parameter(side, _SIDE, "What is compared.", required=True) for side in ("before", "after")
        ),
        refusals=(404,),
    ),
    f"POST {DRAFT}/launch": Row("create", {201: keys("task", "address")}, drafts.Launch, refusals=(409,)),
    f"OPTIONS {DRAFT}/files/{{kind}}": Row("anybody", EMPTY, paths=_FILES),
    f"POST {DRAFT}/files/{{kind}}": Row(
        "create",
        {201: None},
        parameters=(_TUS, _header(uploads.LENGTH, "The file's bytes."), _METADATA),
        refusals=(409, 412, 413, 422),
        paths=_FILES,
        note="`Location` is the upload's URL.",
    ),
    f"HEAD {DRAFT}/files/{{kind}}/{{upload}}": Row(
        "create", {200: None}, parameters=(_TUS,), refusals=(412,), paths=_FILES
    ),
    f"PATCH {DRAFT}/files/{{kind}}/{{upload}}": Row(
        "create",
        EMPTY,
        file(tus.PIECE_TYPE),
        (_TUS, _header(uploads.OFFSET, "Where the piece belongs.")),
        refusals=(408, 409, 412, 415, 422),
        paths=_FILES,
    ),
    f"DELETE {DRAFT}/files/{{kind}}/{{upload}}": Row(
        "create", EMPTY, parameters=(_TUS,), refusals=(409, 412), paths=_FILES
    ),
    "GET /api/account": Row("anybody", {200: keys("account")}, refusals=(401,)),
    "POST /api/sign-in/link/look": Row("anybody", {200: keys("account")}, sign_in.LinkCode, refusals=_TRIES),
    "POST /api/sign-in/link": Row("anybody", _SIGNED_IN, sign_in.LinkCode, refusals=(*_TRIES, 409)),
    "POST /api/sign-in/password": Row("anybody", _SIGNED_IN, credentials.NameAndPassword, refusals=_TRIES),
    "POST /api/sign-in/passkey/options": Row("anybody", {200: keys("challenge")}, refusals=(400, 403, 429)),
    "POST /api/sign-in/passkey": Row("anybody", _SIGNED_IN, credentials.Answered, refusals=_TRIES),
    "POST /api/sign-out": Row("anybody", EMPTY, refusals=(401, 403)),
    "DELETE /api/account/sessions": Row("session", EMPTY),
    "DELETE /api/account/sessions/{id}": Row("session", EMPTY, refusals=(400, 404)),
    "PUT /api/account/password": Row("session", EMPTY, credentials.NewPassword, refusals=(429,)),
    "DELETE /api/account/password": Row("session", EMPTY, refusals=(409,)),
    "POST /api/account/passkeys/options": Row("session", {200: keys("challenge")}, refusals=(400,)),
    "POST /api/account/passkeys": Row("session", EMPTY, credentials.Answered),
    "DELETE /api/account/passkeys/{id}": Row("session", EMPTY, refusals=(400, 404, 409)),
    "POST /api/account/tokens": Row("session", {201: keys("token", "id")}, sign_in.NewToken),
    "DELETE /api/account/tokens/{id}": Row("session", EMPTY, refusals=(400, 404)),
    "DELETE /api/account": Row("session", EMPTY, accounts.Named, refusals=(404, 409)),
    "GET /api/accounts": Row("administer", {200: keys("accounts")}),
    "DELETE /api/accounts/{id}": Row(
        "administer", EMPTY, accounts.Named, refusals=(400, 404, 409), note="For people, not for tokens."
    ),
    "POST /api/account/links": Row("session", {201: keys("code", "path")}, sign_in.NewLink, refusals=(404,)),
}
