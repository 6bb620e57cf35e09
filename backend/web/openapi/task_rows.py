"""Table rows of tasks: their data, their training and their downloads."""

from __future__ import annotations

from backend.server.continuation.extension import Extension
from backend.server.exports.export_formats import FORMATS
from backend.server.rounds.reaggregation.rule_choice import RuleChoice
from backend.web.api.description import DescriptionBody, TextBody
from backend.web.api.exports import AcceptBody, RollbackBody
from backend.web.api.pictures import PictureBody
from backend.web.api.task_management import AlertBody, Ordered, Treated
from backend.web.api.work_challenges import SolvedChallenge
from backend.web.auth.devices import KeyHolder, LeavingDevice, NewDevice
from backend.web.auth.invitations import GivenRole, InvitationCode, NewInvitation
from backend.web.openapi.rows import (
    BYTES,
    EMPTY,
    JSON,
    NUMBER,
    RANGE,
    TEXT,
    ZIP,
    BodyContent,
    Row,
    file,
    keys,
    number,
    one_of,
)

TASK = "/api/tasks/{name}"
_SUMMARY = (
    "name",
    "title",
    "summary",
    "topics",
    "scheme",
    "aggregation",
    "lan",
    "bundle",
    "weights",
    "version",
    "offered",
    "offered_weights",
    "round",
    "phase",
    "state",
)
_VERSION = ("version", "round", "weights", "accepted", "examples", "created", "let_go")
_TRIED = keys("kept", "state", "reason", "rule", "attackers", "planned", "measured", "rounds")
_LIFE = keys("state", "reason", "since", "orders")
_PICTURE = keys("kind", "tag", "text", "drawable", "uploaded")
_PICTURES = ("image/png", "image/jpeg", "image/webp")
_FIGURES = ("text/csv", "application/json", BYTES)
_FILES = tuple(dict.fromkeys([*(export_format.media_type for export_format in FORMATS.values()), JSON]))

ROWS: dict[str, Row] = {
    "GET /api/tasks": Row("anybody", {200: keys("tasks")}, refusals=(401,)),
    f"GET {TASK}": Row("view", {200: keys(*_SUMMARY)}),
    f"DELETE {TASK}": Row("delete", EMPTY, refusals=(409,)),
    f"GET {TASK}/export": Row("manage", {200: file(ZIP), 202: keys("state")}),
    f"GET {TASK}/model": Row("view", {200: keys("parameters", "memory", "wire", "backends")}),
    f"GET {TASK}/challenges/{{client}}": Row("join", {200: keys("challenge")}, refusals=(400,)),
    f"POST {TASK}/challenges/{{client}}": Row("join", EMPTY, body=SolvedChallenge, refusals=(400, 403, 409)),
    f"GET {TASK}/data": Row("view", {200: keys("source", "preprocess", "volunteer", "trial")}),
    f"GET {TASK}/about": Row("view", {200: keys("html", "licence", "consent", "ethics", "earlier", "newer")}),
    f"GET {TASK}/disclosure": Row("view", {200: keys("server", "participants", "readers")}),
    f"GET {TASK}/versions": Row("view", {200: keys("versions")}),
    f"GET {TASK}/contributions": Row("view", {200: keys("contributions", "traffic")}),
    f"GET {TASK}/rounds": Row(
        "view",
        {200: keys("rounds")},
        parameters=(
            number("after", "Rounds after this one."),
            number("last", "The newest so many, 1000 at most."),
            number("before", "Rounds before this one."),
        ),
    ),
    f"GET {TASK}/mesh": Row("view", {200: keys("epoch", "peers", "links", "groups", "state")}),
    f"PUT {TASK}/weights/{{sha256}}": Row(
        "join", EMPTY, file(BYTES), refusals=(409, 422), note="Little-endian float32."
    ),
    f"GET {TASK}/versions/{{version}}": Row("view", {200: keys(*_VERSION, "files")}),
    f"GET {TASK}/versions/{{version}}/card": Row("view", {200: file("text/markdown")}, refusals=(410,)),
    f"GET {TASK}/versions/{{version}}/integrity": Row(
        "view",
        {200: keys("version", "against", "examples", "score", "suspect", "parts"), 202: keys("state")},
        parameters=(number("against", "An earlier version to compare with."),),
        refusals=(400, 409, 410),
    ),
    f"GET {TASK}/versions/{{version}}/{{format}}": Row(
        "view",
        {200: file(*_FILES), 202: keys("state", "format"), 206: file(*_FILES), 304: None, 416: file(*_FILES)},
        parameters=(RANGE,),
        refusals=(400, 409, 410),
        paths={"format": one_of(*FORMATS)},
    ),
    f"POST {TASK}/accept": Row("manage", {200: keys("version", "check")}, AcceptBody, refusals=(409,)),
    f"POST {TASK}/restore": Row("manage", {200: keys("version", "round")}, RollbackBody, refusals=(409, 410)),
    f"GET {TASK}/reaggregation": Row("inspect", {200: _TRIED}),
    f"POST {TASK}/reaggregation": Row("manage", {202: _TRIED}, RuleChoice, refusals=(409,)),
    f"DELETE {TASK}/reaggregation": Row("manage", EMPTY, refusals=(409,)),
    f"POST {TASK}/extend": Row(
        "edit", {200: keys("task", "state", "rounds", "applied")}, Extension, refusals=(409, 410)
    ),
    f"GET {TASK}/description": Row("edit", {200: keys("task", "data", "readme", "checklist")}),
    f"PATCH {TASK}/description": Row(
        "edit", {200: keys("task", "data", "readme", "checklist")}, DescriptionBody, refusals=(409,)
    ),
    f"POST {TASK}/description/preview": Row("edit", {200: keys("html")}, TextBody),
    f"GET {TASK}/picture": Row("view", {200: _PICTURE}),
    f"PATCH {TASK}/picture": Row("edit", {200: _PICTURE}, PictureBody, refusals=(409, 422)),
    f"PUT {TASK}/picture": Row(
        "edit", {200: _PICTURE}, file(*_PICTURES), refusals=(400, 409, 413, 422), note="At most 5 MB."
    ),
    f"GET {TASK}/compare": Row(
        "view",
        {200: keys("before", "after", "distance", "relative", "variables")},
        parameters=(
            number("before", "The version that is compared.", required=True),
            number("after", "The version with which it is compared.", required=True),
        ),
        refusals=(400, 410),
    ),
    f"GET {TASK}/figures/{{file}}": Row(
        "view",
        {200: file(*_FIGURES)},
        paths={
            "file": one_of("versions.csv", "rounds.csv", "assimilations.csv", "figures.json", "tensorboard")
        },
    ),
    f"GET {TASK}/dashboard": Row("inspect", {200: keys("state", "phase", "participants", "rounds", "curve")}),
    f"GET {TASK}/units": Row(
        "inspect",
        {200: keys("epoch", "base", "tally", "shards", "servers", "clients", "trust", "scores", "newer_in")},
    ),
    f"GET {TASK}/units/history": Row(
        "view",
        {200: keys("results")},
        parameters=(
            number("after", "Results after this one, by their numbers."),
            number("last", "The newest so many, 1000 at most."),
        ),
        refusals=(400,),
    ),
    f"GET {TASK}/units/{{unit}}": Row(
        "view", {200: keys("unit", "epoch", "work", "kept", "results")}, paths={"unit": NUMBER}
    ),
    f"GET {TASK}/participants": Row("inspect", {200: keys("participants")}),
    f"POST {TASK}/participants/{{client}}": Row("manage", {200: keys("banned")}, Treated),
    f"POST {TASK}/alerts/{{id}}": Row("manage", {200: keys("alerts")}, AlertBody, paths={"id": NUMBER}),
    f"POST {TASK}/orders": Row("manage", {200: _LIFE}, Ordered, refusals=(409,)),
    f"GET {TASK}/invitations": Row("manage", {200: keys("invitations")}),
    f"POST {TASK}/invitations": Row("manage", {201: keys("code", "address", "qr")}, NewInvitation),
    f"DELETE {TASK}/invitations/{{id}}": Row("manage", EMPTY, refusals=(400,)),
    f"GET {TASK}/members": Row("inspect", {200: keys("members")}),
    f"PUT {TASK}/members": Row(
        "share", EMPTY, GivenRole, refusals=(409,), note="For people, not for tokens."
    ),
    "POST /api/join": Row("anybody", {200: keys("task", "path")}, InvitationCode, refusals=(403, 404)),
    "POST /api/devices": Row("anybody", {200: keys("name", "devices")}, KeyHolder),
    "PUT /api/devices": Row("anybody", {200: keys("name", "devices")}, NewDevice, refusals=(429,)),
    "DELETE /api/devices": Row("anybody", EMPTY, LeavingDevice),
    "GET /blobs/{sha256}": Row(
        "anybody",
        {200: file(BYTES), 206: file(BYTES), 304: None, 416: file(BYTES)},
        parameters=(RANGE,),
        refusals=(401, 404, 410),
    ),
    "GET /healthz": Row("anybody", {200: BodyContent((TEXT,), {"type": "string"})}),
    "GET /readyz": Row("anybody", {200: keys("ready", "stores"), 503: keys("ready", "stores")}),
    "GET /metrics": Row("anybody", {200: file(TEXT)}, refusals=(403,)),
}
