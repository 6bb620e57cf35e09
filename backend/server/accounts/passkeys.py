"""Passkeys (WebAuthn level 2): a device signs a challenge of ours, after it has looked who holds it."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any, TypeVar
from urllib.parse import urlsplit

from backend.errors import BadRequestError, SignInError
from backend.stores.access import AccessRecords, AccountRecord, PasskeyRecord

Made = TypeVar("Made")

CHALLENGE_SECONDS = 300.0
MOST_CHALLENGES = 1000
MOST_PASSKEYS = 20


@dataclass(frozen=True)
class RelyingParty:
    """Where passkeys are used: the page's origin, and the name in it, to which they are bound."""

    origin: str

    @property
    def name(self) -> str:
        """The host's name. Raises BadRequestError for a number, to which browsers bind none."""
        host = urlsplit(self.origin).hostname or ""
        try:
            ip_address(host)
        except ValueError:
            return host
        raise BadRequestError(
            "Passkeys need an address with a name: http://localhost on the server's own machine, or https "
            "with a name of its own. A password works at every address."
        )


class Passkeys:
    """Registers them and signs in by them. Owns the challenges that wait for an answer, in memory.

    `clock` gives seconds (Unix).
    """

    def __init__(self, records: AccessRecords, clock: Callable[[], float]) -> None:
        self._records = records
        self._clock = clock
        # What was asked, by its challenge: of which account (None: a sign-in) and until when.
        self._asked: OrderedDict[str, tuple[str | None, float]] = OrderedDict()

    async def of(self, account: str) -> list[PasskeyRecord]:
        """All of an account, the newest first."""
        return await self._records.passkeys(account)

    async def ask_for_new(self, account: AccountRecord, site: RelyingParty) -> dict[str, Any]:
        """What a browser needs to make a passkey for an account. Raises BadRequestError."""
        from webauthn import generate_registration_options, options_to_json
        from webauthn.helpers import base64url_to_bytes
        from webauthn.helpers.structs import (
            AuthenticatorSelectionCriteria,
            PublicKeyCredentialDescriptor,
            ResidentKeyRequirement,
            UserVerificationRequirement,
        )

        known = await self.of(account.id)
        if len(known) >= MOST_PASSKEYS:
            raise BadRequestError(f"You have {MOST_PASSKEYS} passkeys. Remove one that is not used any more.")
        options = generate_registration_options(
            rp_id=site.name,
            rp_name="Minga",
            user_name=account.name,
            user_id=account.id.encode(),
            authenticator_selection=AuthenticatorSelectionCriteria(
                resident_key=ResidentKeyRequirement.REQUIRED,
                user_verification=UserVerificationRequirement.REQUIRED,
            ),
            exclude_credentials=[
                PublicKeyCredentialDescriptor(id=base64url_to_bytes(one.id)) for one in known
            ],
        )
        return self._remember(json.loads(options_to_json(options)), account.id)

    async def add(self, account: str, name: str, answer: Mapping[str, Any], site: RelyingParty) -> None:
        """Keeps the passkey that a browser made. Raises SignInError for an answer that is not right."""
        from webauthn import verify_registration_response
        from webauthn.helpers import bytes_to_base64url

        challenge = self._challenge(answer, account)
        made = _verified(
            lambda: verify_registration_response(
                credential=dict(answer),
                expected_challenge=challenge,
                expected_rp_id=site.name,
                expected_origin=site.origin,
                require_user_verification=True,
            )
        )
        id = bytes_to_base64url(made.credential_id)
        key = made.credential_public_key
        await self._records.add_passkey(PasskeyRecord(id, account, name, key, made.sign_count, self._clock()))

    def ask_who(self, site: RelyingParty) -> dict[str, Any]:
        """What a browser needs to sign somebody in, by whichever passkey they choose."""
        from webauthn import generate_authentication_options, options_to_json
        from webauthn.helpers.structs import UserVerificationRequirement

        options = generate_authentication_options(
            rp_id=site.name, user_verification=UserVerificationRequirement.REQUIRED
        )
        return self._remember(json.loads(options_to_json(options)), None)

    async def sign_in(self, answer: Mapping[str, Any], site: RelyingParty) -> AccountRecord:
        """Whose passkey answered. Raises SignInError."""
        from webauthn import verify_authentication_response

        challenge = self._challenge(answer, None)
        passkey = await self._records.passkey(str(answer.get("id", "")))
        if passkey is None:
            raise SignInError("This passkey is not known here (any more). Sign in another way.")
        shown = _verified(
            lambda: verify_authentication_response(
                credential=dict(answer),
                expected_challenge=challenge,
                expected_rp_id=site.name,
                expected_origin=site.origin,
                credential_public_key=passkey.public_key,
                credential_current_sign_count=passkey.uses,
                require_user_verification=True,
            )
        )
        await self._records.passkey_used(passkey.id, shown.new_sign_count, self._clock())
        account = await self._records.account(passkey.account)
        if account is None:
            raise SignInError("The account of this passkey is gone.")
        return account

    async def remove(self, account: str, id: str) -> bool:
        """Forgets one; whether there was one."""
        return await self._records.remove_passkey(account, id)

    def _remember(self, options: dict[str, Any], account: str | None) -> dict[str, Any]:
        self._asked[options["challenge"]] = (account, self._clock() + CHALLENGE_SECONDS)
        while len(self._asked) > MOST_CHALLENGES:
            self._asked.popitem(last=False)
        return options

    def _challenge(self, answer: Mapping[str, Any], account: str | None) -> bytes:
        """The challenge that is answered, which is good for this once. Raises SignInError."""
        from webauthn.helpers import base64url_to_bytes

        try:
            said = json.loads(base64url_to_bytes(answer["response"]["clientDataJSON"]))["challenge"]
            asked, until = self._asked.pop(said)
        except (KeyError, TypeError, ValueError):
            raise _late() from None
        if asked != account or until < self._clock():
            raise _late()
        return base64url_to_bytes(said)


def _verified(verify: Callable[[], Made]) -> Made:
    """What `verify` gives. Raises SignInError where the answer is not what was asked for."""
    from webauthn.helpers.exceptions import WebAuthnException

    try:
        return verify()
    except (WebAuthnException, KeyError, TypeError, ValueError) as error:
        raise SignInError(
            "What the device answered does not fit. Try again, or sign in another way."
        ) from error


def _late() -> SignInError:
    return SignInError("That took too long, or was answered before. Try again.")
