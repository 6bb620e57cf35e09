"""Addresses of parameter stores are checked when a server starts, and told without passwords."""

from __future__ import annotations

import pytest

from backend.stores.parameters.place import MEMORY, ParameterAddress, check_address, with_password


@pytest.mark.parametrize(
    "address",
    [
        MEMORY,
        "redis://127.0.0.1:6379/0",
        "rediss://:secret@parameters.example.org/2?shards=16",
        "unix:///run/redis/redis.sock?db=1&shards=4",
        "postgresql://minga@127.0.0.1/parameters?connect_timeout=5",
        "postgres:///parameters",
    ],
)
def test_places_that_parameters_can_stand_at(address: str) -> None:
    check_address(address)
    assert ParameterAddress(address, "digits", "run").shared == (address != MEMORY)


@pytest.mark.parametrize(
    ("address", "told"),
    [
        ("", "is not a place"),
        ("mysql://root@localhost", "is not a place"),
        ("localhost:6379", "is not a place"),
        ("redis://localhost?shards=0", "from 1 to 1024"),
        ("redis://localhost?shards=1025", "from 1 to 1024"),
        ("redis://localhost?shards=many", "from 1 to 1024"),
        ("postgresql://localhost/minga?shards=16", "leave shards out"),
    ],
)
def test_other_places_are_refused_with_what_would_do(address: str, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        check_address(address)


def test_nobody_is_told_a_password() -> None:
    with pytest.raises(ValueError, match="is not a place") as refused:
        check_address("mysql://root:secret@localhost/minga")
    assert "secret" not in str(refused.value)
    assert "root@localhost" in str(refused.value)
    assert "secret" not in repr(ParameterAddress("redis://:secret@localhost", "digits", "run"))


@pytest.mark.parametrize(
    ("address", "complete"),
    [
        ("redis://localhost:6379/0", "redis://:p%40ss%2F@localhost:6379/0"),
        ("redis://minga:old@localhost/0?shards=2", "redis://minga:p%40ss%2F@localhost/0?shards=2"),
        ("postgresql://minga@localhost/x", "postgresql://minga:p%40ss%2F@localhost/x"),
    ],
)
def test_a_password_from_a_file_goes_into_the_address(address: str, complete: str) -> None:
    assert with_password(address, "p@ss/") == complete
