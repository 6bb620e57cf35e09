"""Golden vectors of masked rounds, which TypeScript is held to as well."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import numpy as np
import pytest

from backend.crypto import client_keys, sealing, shamir
from backend.crypto.derive import own_key
from backend.crypto.keystream import add_keystream
from backend.errors import BadKeyError
from tests.contract.vectors.secagg.make_masked import PLACE

GOLDEN: dict[str, Any] = json.loads(PLACE.read_text("utf-8"))


def test_bad_keys_are_refused() -> None:
    for key in GOLDEN["bad_keys"]:
        with pytest.raises(BadKeyError):
            client_keys.agree(bytes.fromhex(GOLDEN["agreements"][0]["private"]), bytes.fromhex(key))


def test_sealed_shares_open() -> None:
    for case in GOLDEN["sealed"]:
        key, context, sealed = (bytes.fromhex(case[name]) for name in ("key", "context", "sealed"))
        opened = [
            sealing.unseal(key[32 * kind :][:32], context, case["sender"], case["receiver"], sealed, kind)
            for kind in sealing.ShareKind
        ]
        assert [share.hex() for share in opened] == [case["seed_share"], case["mask_share"]]


def test_shares_recover() -> None:
    for case in GOLDEN["shares"]:
        shares = [bytes.fromhex(share) for share in case["shares"]]
        last = dict(list(zip(case["holders"], shares, strict=True))[-case["threshold"] :])
        assert shamir.recover(last).hex() == case["secret"]


@pytest.mark.parametrize("cohort", GOLDEN["cohorts"])
def test_masks_of_pairs_cancel_and_own_ones_come_off(cohort: dict[str, Any]) -> None:
    total = np.array(cohort["masked"], np.uint32).sum(axis=0, dtype=np.uint32)
    for place in cohort["dealt"]:
        member = cohort["members"][place]
        seed = bytes.fromhex(member["seed"])
        assert hashlib.sha256(seed).hexdigest() == member["seed_hash"]
        add_keystream(total, own_key(seed, bytes.fromhex(cohort["context"]), place), -1)
    assert [word % 2 ** cohort["terms"]["bits"] for word in total.tolist()] == cohort["sum"]
