"""Decides which requester may do what, as one pure rule (docs/decisions/0036-owners.md)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, get_args

from backend.errors import ForbiddenError, MingaError, NotFoundError, SignInError

# On a task, in order: see it, take part, see its dashboard, pause it and remove participants, change it,
# delete it, give others roles. On the server: create own tasks, administer it.
TaskAction: TypeAlias = Literal["view", "join", "inspect", "manage", "edit", "delete", "share"]
ServerAction: TypeAlias = Literal["create", "administer"]
Action: TypeAlias = TaskAction | ServerAction
Role: TypeAlias = Literal["viewer", "collaborator", "owner"]
Visibility: TypeAlias = Literal["public", "unlisted", "invited"]

SCOPES: tuple[Action, ...] = (*get_args(TaskAction), *get_args(ServerAction))
ROLES: tuple[Role, ...] = get_args(Role)

# Allowed without an account on tasks that are not by invitation.
_OPEN: frozenset[Action] = frozenset(("view", "join"))
_VIEWER: frozenset[Action] = _OPEN | {"inspect"}
_COLLABORATOR: frozenset[Action] = _VIEWER | {"manage", "edit"}
_ALLOWED: Mapping[Role, frozenset[Action]] = {
    "viewer": _VIEWER,
    "collaborator": _COLLABORATOR,
    "owner": _COLLABORATOR | {"delete", "share"},
}


@dataclass(frozen=True)
class TaskAccess:
    """The properties of a task on which access to it depends.

    If `takes_invited` only, everyone who may see it reads about it, and people with an invitation or a role
    take part.
    """

    name: str
    visibility: Visibility = "public"
    takes_invited: bool = False


@dataclass(frozen=True)
class Requester:
    """The origin of a request: an anonymous visitor, an account, or a program with an account's API token.

    `scopes` are those of the token, None for a person; `only` is the one task to which the token is limited.
    `admitted` are the tasks to which an invitation admitted the visitor, `limited` those of them whose
    invitation was for a limited number of people.
    """

    account: str | None = None
    name: str = ""
    operator: bool = False
    roles: Mapping[str, Role] = field(default_factory=dict)
    scopes: frozenset[str] | None = None
    only: str | None = None
    admitted: frozenset[str] = frozenset()
    limited: frozenset[str] = frozenset()

    def covers(self, action: Action) -> bool:
        """Whether the token's scopes include `action`; every token may view."""
        return self.scopes is None or action == "view" or action in self.scopes


ANYBODY = Requester()


def may(identity: Requester, action: Action, task: TaskAccess | None = None) -> bool:
    """Whether `identity` may do `action`, on `task` if it is a task's action."""
    if task is not None and action in _OPEN and _is_open(task, identity, action):
        return True
    if identity.account is None or not identity.covers(action):
        return False
    if task is None:
        return identity.only is None and (
            action == "create" or (action == "administer" and identity.operator)
        )
    if identity.only not in (None, task.name):
        return False
    if identity.operator:
        return action in _ALLOWED["owner"]
    role = identity.roles.get(task.name)
    return role is not None and action in _ALLOWED[role]


def _is_open(task: TaskAccess, identity: Requester, action: Action) -> bool:
    """Whether `identity` may see `task`, or join it, without an account."""
    asks = task.visibility == "invited" or (action == "join" and task.takes_invited)
    return not asks or task.name in identity.admitted


def listed(identity: Requester, task: TaskAccess) -> bool:
    """Whether a list of tasks shows `task` to `identity`: unless public, only to those with access to it."""
    if task.visibility == "public":
        return True
    involved = identity.operator or task.name in identity.roles or task.name in identity.admitted
    return involved and may(identity, "view", task)


def refusal(identity: Requester, action: Action, task: TaskAccess | None = None) -> MingaError | None:
    """Returns why `identity` may not do `action`; None if it may."""
    if may(identity, action, task):
        return None
    if task is not None and not may(identity, "view", task):
        # The answer must not reveal whether a hidden task exists.
        return unknown()
    if task is not None and action == "join" and task.takes_invited and identity.covers(action):
        return ForbiddenError(
            f"Only people with an invitation or a role take part in '{task.name}'. Ask its owner for one."
        )
    if identity.account is None:
        return SignInError("Sign in first, on the page /sign-in: this is for owners of tasks.")
    if not identity.covers(action):
        return ForbiddenError(
            f"This API token is not for '{action}'. Make one with that scope on the page /account."
        )
    if identity.only is not None and (task is None or task.name != identity.only):
        return ForbiddenError(
            f"This API token is for '{identity.only}' alone. Make another on the page /account."
        )
    if task is None:
        return ForbiddenError("Only an operator of this server may do that.")
    needed = next(role for role in ROLES if action in _ALLOWED[role])
    return ForbiddenError(
        f"To do that you need to be {needed} of '{task.name}'. An owner of the task can make you one."
    )


def unknown() -> NotFoundError:
    """Returns the error for a task that does not exist, or that is hidden from the requester."""
    return NotFoundError("There is no task with that name; the gallery lists all.")
