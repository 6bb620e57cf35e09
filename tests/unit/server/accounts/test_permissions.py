from __future__ import annotations

from dataclasses import replace
from typing import get_args

import pytest

from backend.errors import ForbiddenError, NotFoundError, SignInError
from backend.server.accounts.permissions import (
    ANYBODY,
    SCOPES,
    Requester,
    Role,
    ServerAction,
    TaskAccess,
    TaskAction,
    Visibility,
    listed,
    may,
    refusal,
)

ACTIONS = get_args(TaskAction)
PUBLIC, UNLISTED, INVITED = (TaskAccess("digits", kind) for kind in get_args(Visibility))
SOMEBODY = Requester("a" * 16, "ann")
OPERATOR = replace(SOMEBODY, operator=True)


def with_role(role: Role) -> Requester:
    return replace(SOMEBODY, roles={"digits": role})


def allowed(identity: Requester, task: TaskAccess) -> set[str]:
    return {action for action in ACTIONS if may(identity, action, task)}


@pytest.mark.parametrize("who", [ANYBODY, SOMEBODY])
def test_anybody_sees_and_joins_a_task_that_is_open(who: Requester) -> None:
    assert allowed(who, PUBLIC) == allowed(who, UNLISTED) == {"view", "join"}
    assert allowed(who, INVITED) == set()


def test_who_is_let_in_sees_and_joins_a_task_by_invitation() -> None:
    assert allowed(Requester(admitted=frozenset(["digits"])), INVITED) == {"view", "join"}
    assert allowed(Requester(admitted=frozenset(["letters"])), INVITED) == set()


@pytest.mark.parametrize("task", [PUBLIC, UNLISTED, INVITED])
def test_a_task_that_takes_invited_people_only_is_seen_as_others_are(
    task: TaskAccess,
) -> None:
    takes_invited = replace(task, takes_invited=True)
    for who in (ANYBODY, SOMEBODY):
        assert allowed(who, takes_invited) == allowed(who, task) - {"join"}
        assert listed(who, takes_invited) == listed(who, task)
    assert allowed(Requester(admitted=frozenset(["digits"])), takes_invited) == {"view", "join"}
    assert allowed(with_role("viewer"), takes_invited) == {"view", "join", "inspect"}
    assert allowed(OPERATOR, takes_invited) == set(ACTIONS)


@pytest.mark.parametrize("who", [ANYBODY, SOMEBODY])
def test_who_needs_an_invitation_is_told_so(who: Requester) -> None:
    error = refusal(who, "join", replace(PUBLIC, takes_invited=True))
    assert isinstance(error, ForbiddenError)
    assert "Only people with an invitation or a role take part in 'digits'" in str(error)
    assert isinstance(refusal(who, "join", replace(INVITED, takes_invited=True)), NotFoundError)


@pytest.mark.parametrize("task", [PUBLIC, UNLISTED, INVITED])
def test_each_role_may_what_the_one_below_may_and_more(task: TaskAccess) -> None:
    assert allowed(with_role("viewer"), task) == {"view", "join", "inspect"}
    assert allowed(with_role("collaborator"), task) == {"view", "join", "inspect", "manage", "edit"}
    assert allowed(with_role("owner"), task) == set(ACTIONS)
    assert allowed(OPERATOR, task) == set(ACTIONS)


def test_a_role_holds_on_its_own_task_alone() -> None:
    assert allowed(with_role("owner"), TaskAccess("letters", "invited")) == set()


def test_who_has_an_account_begins_tasks_and_operators_run_the_server() -> None:
    def on_server(who: Requester) -> set[str]:
        return {action for action in get_args(ServerAction) if may(who, action)}

    assert on_server(ANYBODY) == set()
    assert on_server(with_role("owner")) == {"create"}
    assert on_server(OPERATOR) == {"create", "administer"}
    assert on_server(replace(OPERATOR, only="digits", scopes=frozenset(SCOPES))) == set()


@pytest.mark.parametrize("action", ACTIONS)
def test_a_token_may_see_and_what_it_is_for(action: TaskAction) -> None:
    token = replace(with_role("owner"), scopes=frozenset([action]))
    assert allowed(token, INVITED) == {"view", action}
    assert allowed(token, PUBLIC) == {"view", "join", action}


@pytest.mark.parametrize("role", get_args(Role))
@pytest.mark.parametrize("action", ACTIONS)
def test_a_token_may_no_more_than_its_account(role: Role, action: TaskAction) -> None:
    token = replace(with_role(role), scopes=frozenset([action]))
    assert allowed(token, INVITED) <= allowed(with_role(role), INVITED)


def test_a_token_for_one_task_does_nothing_to_others() -> None:
    token = replace(OPERATOR, scopes=frozenset(SCOPES), only="letters")
    assert allowed(token, INVITED) == set()
    assert allowed(token, PUBLIC) == {"view", "join"}


def test_a_list_has_what_is_public_and_what_one_takes_part_in() -> None:
    assert [listed(ANYBODY, task) for task in (PUBLIC, UNLISTED, INVITED)] == [True, False, False]
    for who in (with_role("viewer"), OPERATOR, Requester(admitted=frozenset(["digits"]))):
        assert all(listed(who, task) for task in (PUBLIC, UNLISTED, INVITED))


def test_a_refusal_does_not_tell_of_a_task_by_invitation() -> None:
    for action in ACTIONS:
        assert isinstance(refusal(ANYBODY, action, INVITED), NotFoundError)
        assert isinstance(refusal(SOMEBODY, action, INVITED), NotFoundError)


def test_a_refusal_says_what_is_missing() -> None:
    def told(who: Requester, action: TaskAction | ServerAction, task: TaskAccess | None = None) -> str:
        return str(refusal(who, action, task))

    assert isinstance(refusal(ANYBODY, "manage", PUBLIC), SignInError)
    assert isinstance(refusal(ANYBODY, "create"), SignInError)
    assert isinstance(refusal(SOMEBODY, "manage", PUBLIC), ForbiddenError)
    assert "collaborator of 'digits'" in told(with_role("viewer"), "manage", PUBLIC)
    assert "owner of 'digits'" in told(with_role("collaborator"), "delete", PUBLIC)
    assert "operator" in told(SOMEBODY, "administer")
    assert "'manage'" in told(replace(OPERATOR, scopes=frozenset(["join"])), "manage", PUBLIC)
    assert "'letters' alone" in told(
        replace(OPERATOR, scopes=frozenset(["manage"]), only="letters"), "manage", PUBLIC
    )
    assert refusal(OPERATOR, "manage", PUBLIC) is None
