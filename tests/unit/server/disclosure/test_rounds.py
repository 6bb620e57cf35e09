"""What the page says that others can learn: by every stack, with its numbers, and silent about nothing."""

from __future__ import annotations

import math
import tomllib
from typing import Any

from backend.formats.task_file import TaskFile, parse_task
from backend.server.disclosure.rounds import disclose_rounds
from backend.server.disclosure.statement import Disclosure, Guarantee
from tests.support.tasks.tiny_task import task_toml

OWN = {"source": "volunteer", "preprocess": {"kind": "array"}}
PUBLIC = {"source": "shards", "shards": "built/shards"}


def task(data: dict[str, Any], aggregation: list[str], **tables: dict[str, Any]) -> TaskFile:
    """Rounds of five clients, measured by none; `tables` add to its own."""
    said = tomllib.loads(
        task_toml("tiny", {"min_available_clients": 5, "quorum": 5, "fraction_evaluate": 0.0})
    )
    said["data"] = data
    said["security"]["aggregation"] = aggregation
    if "masked" in aggregation:
        said["security"]["masking"] = {"min_clients": 5}
    for name, table in tables.items():
        said[name] = said.get(name, {}) | table
    return parse_task(said, "here")


def disclose(file: TaskFile, guarantee: Guarantee | None = None) -> Disclosure:
    """Of a task without an account, where none is given."""
    return disclose_rounds(file, guarantee)


def text(sentences: list[str]) -> str:
    """As one reads them."""
    return " ".join(sentences)


def everything(told: Disclosure) -> str:
    return text([*told.server, *told.participants, *told.readers])


def test_open_rounds_of_own_data_say_what_a_single_update_gives_away() -> None:
    told = disclose(task(OWN, ["open"]))
    assert "sees your single update" in told.server[0]
    for word in ("labels", "a certain example", "the examples themselves"):
        assert word in told.server[1]
    assert "network address" in told.server[-1]
    assert "traces" in told.readers[0]
    assert "mask" not in everything(told)


def test_masked_rounds_say_among_how_many_and_that_the_server_keeps_to_the_rules() -> None:
    told = disclose(task(OWN, ["masked"]))
    assert "the sum of at least 5 updates" in told.server[0]
    assert "if the server follows the rules" in told.server[1]
    assert "No update is in two sums" in told.server[2]
    assert "by itself" not in text(told.server)
    assert "sealed shares" in text(told.participants)
    assert "masks do not either" in told.readers[0]


def test_a_server_that_may_lie_is_checked_but_for_participants_that_it_invents() -> None:
    told = disclose(task(OWN, ["masked"], security={"masking": {"min_clients": 5, "server": "active"}}))
    assert "sign" in told.server[1]
    assert "Invented participants" in told.server[1]
    assert "follows the rules" not in text(told.server)


def test_where_open_rounds_are_an_alternative_both_are_told() -> None:
    told = disclose(task(OWN, ["masked", "open"]))
    assert "masked on your device" in told.server[0]
    assert "Devices that cannot mask" in text(told.server)
    assert "Without masks the server sees your single update" in text(told.server)


def test_public_data_are_nobodys() -> None:
    told = disclose(task(PUBLIC, ["open"]))
    assert "public examples" in told.server[0]
    assert "nothing of yours" in told.readers[0]
    assert "labels" not in everything(told)


def test_small_rounds_give_an_update_away_to_whoever_compares_versions() -> None:
    alone = {"min_available_clients": 1, "quorum": 1}
    assert "consist of one update" in text(disclose(task(OWN, ["open"], coordination=alone)).participants)
    two = {"min_available_clients": 2, "quorum": 2}
    assert "subtract" in text(disclose(task(OWN, ["open"], coordination=two)).participants)
    five = text(disclose(task(OWN, ["open"])).participants)
    assert "only. " not in five


def test_measuring_on_examples_held_out_is_told() -> None:
    assert "held-out examples" not in everything(disclose(task(OWN, ["open"])))
    told = disclose(task(OWN, ["open"], coordination={"fraction_evaluate": 1.0}))
    assert "held-out examples" in text(told.server)


def test_sketches_of_single_updates_are_told_where_the_server_makes_them() -> None:
    checked: dict[str, Any] = {"security": {"integrity": {}}}
    sketched = "reduces each update to 1024 numbers while the round lasts"
    assert sketched in text(disclose(task(OWN, ["open"], **checked)).server)
    by_trigger: dict[str, Any] = {"security": {"integrity": {"parts": ["trigger"]}}}
    noisy = {"privacy": private("central")}
    for silent in (
        task(OWN, ["open"]),
        task(OWN, ["masked"], **checked),
        task(OWN, ["open"], **by_trigger),
        task(OWN, ["open"], **checked, **noisy),
    ):
        assert sketched not in everything(disclose(silent))


def test_the_licence_of_the_model_is_named_or_said_to_be_missing() -> None:
    assert "not stated" in disclose(task(OWN, ["open"], licence={})).readers[-1]
    named = disclose(task(OWN, ["open"], licence={"model": "Apache-2.0"}))
    assert "under Apache-2.0" in named.readers[-1]


def private(mechanism: str, noise: float = 2.0) -> dict[str, Any]:
    return {"mechanism": mechanism, "clip": 1.0, "noise_multiplier": noise}


def test_noise_of_the_server_hides_clients_from_readers_and_not_from_the_server() -> None:
    told = disclose(task(OWN, ["open"], privacy=private("central")))
    assert told.server[0].endswith("with the number of your examples.")
    assert "labels" in told.server[1]
    assert "Noise in every version" in told.readers[0]
    quiet = disclose(task(OWN, ["open"], privacy=private("central", 0.0)))
    assert "traces" in quiet.readers[0]


def test_noise_of_the_device_is_all_that_the_server_sees() -> None:
    told = disclose(task(OWN, ["open"], privacy=private("local")))
    assert "adds noise before sending it" in told.server[0]
    assert "by itself" not in text(told.server)
    assert "labels" not in text(told.server)


def test_shares_of_noise_are_told_with_the_sum_that_they_are_in() -> None:
    told = disclose(task(OWN, ["masked"], privacy=private("distributed")))
    assert "at least 5 updates, with noise of which your device adds a share, and nothing" in told.server[0]
    assert "only your share of the noise" in told.server[1]
    assert "losses" not in everything(told)


def test_what_is_left_when_versions_are_compared_has_the_noise_in_it() -> None:
    alone = {"min_available_clients": 1, "quorum": 1}
    told = disclose(task(OWN, ["open"], coordination=alone, privacy=private("central")))
    assert "can compute that update, apart from its noise." in text(told.participants)


ACCOUNT = Guarantee("Little can be told: epsilon 2.", 2.0, 1e-5, 8.0)


def test_an_account_is_told_with_what_epsilon_means() -> None:
    readers = text(disclose(task(OWN, ["open"], privacy=private("central")), ACCOUNT).readers)
    assert "epsilon 2" in readers
    assert f"at most {math.exp(2.0):.2g} times as likely with you as without" in readers
    assert "probability 1e-05" in readers
    assert "ends before epsilon passes 8 (at most 2,981 times" in readers
    assert "Nothing here limits" not in readers


def test_the_account_stands_where_its_noise_hides_something() -> None:
    central = disclose(task(OWN, ["open"], privacy=private("central")), ACCOUNT)
    assert "epsilon" not in text(central.server)
    for mechanism, aggregation in (("local", "open"), ("examples", "open"), ("distributed", "masked")):
        told = disclose(task(OWN, [aggregation], privacy=private(mechanism)), ACCOUNT)
        assert "epsilon 2" in text(told.server)
        assert "to the server too" in text(told.readers)


def test_privacy_of_examples_hides_one_and_not_what_they_have_in_common() -> None:
    told = disclose(task(OWN, ["open"], privacy=private("examples")), ACCOUNT)
    assert "each single example" in told.server[0]
    assert "in common" in told.server[1]
    assert "with an example as without" in text(told.server)
    assert "labels" not in everything(told)
    quiet = disclose(task(OWN, ["open"], privacy=private("examples", 0.0)))
    assert "labels" in text(quiet.server)


def test_where_nothing_is_guaranteed_no_number_stands_in_its_place() -> None:
    nothing = Guarantee("Nothing is guaranteed: no noise is added.", None, 1e-5, None)
    server = text(disclose(task(OWN, ["open"], privacy=private("local")), nothing).server)
    assert "Nothing is guaranteed" in server
    assert "times as likely" not in server


def test_before_the_first_round_nothing_was_spent() -> None:
    none = Guarantee("epsilon 0", 0.0, 1e-5, None)
    assert "There was none yet" in text(disclose(task(OWN, ["open"], privacy=private("local")), none).server)


def test_a_robust_rule_is_told_where_the_server_compares_single_updates() -> None:
    compared = "compares the updates of a round with one another"
    robust = {"aggregation": ["open"], "robust": {"rule": "krum", "attackers": 1}}
    for data in (OWN, PUBLIC):
        assert compared in text(disclose(task(data, ["open"], security=robust)).server)
        assert compared not in everything(disclose(task(data, ["open"])))


def test_reputation_is_told_with_what_is_kept_and_who_sees_it() -> None:
    kept = "The server keeps how suspect they looked, and a code for your network"
    security = {"aggregation": ["open"], "reputation": {}}
    for data in (OWN, PUBLIC):
        assert kept in text(disclose(task(data, ["open"], security=security)).server)
        assert kept not in everything(disclose(task(data, ["open"])))


def test_keeping_single_updates_is_told_with_for_how_long_what_for_and_who_sees_what() -> None:
    security = {"aggregation": ["open"], "kept_updates": {"rounds": 3}}
    for data in (OWN, PUBLIC):
        told = text(disclose(task(data, ["open"], security=security)).server)
        assert (
            "It keeps your update until 3 later rounds have ended with a new version, or the task is" in told
        )
        assert "The task's owner sees the results" in told
        assert "Nobody is sent a kept update." in told
        assert "keeps your update" not in everything(disclose(task(data, ["open"])))
