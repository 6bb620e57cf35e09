"""Registers and verifies passkeys (WebAuthn level 2): a device checks its user and signs a challenge."""

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

Verified = TypeVar("Verified")

CHALLENGE_SECONDS = 300.0
MAX_CHALLENGES = 1000
MAX_PASSKEYS = 20


@dataclass(frozen=True)
class RelyingParty:
    """The site that uses passkeys: the page's origin, and its host name, to which passkeys are bound."""

    origin: str

    @property
    def name(self) -> str:
        """Returns the host name. Raises BadRequestError for an IP address, which browsers do not support."""
        host = urlsplit(self.origin).hostname or ""
        try:
            ip_address(host)
        except ValueError:
            return host
        raise BadRequestError(
            "Passkeys need an address with a name: http://localhost on the server's own machine, or https "
            "with a domain name. A password works at every address."
        )


class Passkeys:
    """Registers passkeys and signs in by them. Owns the unanswered challenges, in memory.

    `clock` gives Unix seconds.
    """

    def __init__(self, records: AccessRecords, clock: Callable[[], float]) -> None:
        self._records = records
        self._clock = clock
        # Challenge -> its account (None: a sign-in) and the time at which it expires.
        self._challenges: OrderedDict[str, tuple[str | None, float]] = OrderedDict()

    async def of(self, account: str) -> list[PasskeyRecord]:
        """Returns all passkeys of an account, the newest first."""
        return await self._records.passkeys(account)

    async def registration_options(self, account: AccountRecord, site: RelyingParty) -> dict[str, Any]:
        """Returns what a browser needs to create a passkey for an account. Raises BadRequestError."""
        from webauthn import generate_registration_options, options_to_json
        from webauthn.helpers import base64url_to_bytes
        from webauthn.helpers.structs import (
            AuthenticatorSelectionCriteria,
            PublicKeyCredentialDescriptor,
            ResidentKeyRequirement,
            UserVerificationRequirement,
        )

        passkeys = await self.of(account.id)
        if len(passkeys) >= MAX_PASSKEYS:
            raise BadRequestError(f"You have {MAX_PASSKEYS} passkeys. Remove one that is no longer used.")
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
                PublicKeyCredentialDescriptor(id=base64url_to_bytes(passkey.id)) for passkey in passkeys
            ],
        )
        return self._remember(json.loads(options_to_json(options)), account.id)

    async def add(self, account: str, name: str, answer: Mapping[str, Any], site: RelyingParty) -> None:
        """Stores the passkey that a browser created. Raises SignInError if the answer is invalid."""
        from webauthn import verify_registration_response
        from webauthn.helpers import bytes_to_base64url

        challenge = self._challenge(answer, account)
        credential = _verified(
            lambda: verify_registration_response(
                credential=dict(answer),
                expected_challenge=challenge,
                expected_rp_id=site.name,
                expected_origin=site.origin,
                require_user_verification=True,
            )
        )
        id = bytes_to_base64url(credential.credential_id)
        key = credential.credential_public_key
        await self._records.add_passkey(
            PasskeyRecord(id, account, name, key, credential.sign_count, self._clock())
        )

    def sign_in_options(self, site: RelyingParty) -> dict[str, Any]:
        """Returns what a browser needs to sign a user in by a passkey of their choice."""
        from webauthn import generate_authentication_options, options_to_json
        from webauthn.helpers.structs import UserVerificationRequirement

        options = generate_authentication_options(
            rp_id=site.name, user_verification=UserVerificationRequirement.REQUIRED
        )
        return self._remember(json.loads(options_to_json(options)), None)

    async def sign_in(self, answer: Mapping[str, Any], site: RelyingParty) -> AccountRecord:
        """Returns the account whose passkey signed the challenge. Raises SignInError."""
        from webauthn import verify_authentication_response

        challenge = self._challenge(answer, None)
        passkey = await self._records.passkey(str(answer.get("id", "")))
        if passkey is None:
            raise SignInError("This passkey is not known here. Sign in another way.")
        assertion = _verified(
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
        await self._records.passkey_used(passkey.id, assertion.new_sign_count, self._clock())
        account = await self._records.account(passkey.account)
        if account is None:
            raise SignInError("The account of this passkey is gone.")
        return account

    async def remove(self, account: str, id: str) -> bool:
        """Deletes the passkey `id`. Returns whether it existed."""
        return await self._records.remove_passkey(account, id)

    def _remember(self, options: dict[str, Any], account: str | None) -> dict[str, Any]:
        self._challenges[options["challenge"]] = (account, self._clock() + CHALLENGE_SECONDS)
        while len(self._challenges) > MAX_CHALLENGES:
            self._challenges.popitem(last=False)
        return options

    def _challenge(self, answer: Mapping[str, Any], account: str | None) -> bytes:
        """Returns the answered challenge, which can be used only once. Raises SignInError."""
        from webauthn.helpers import base64url_to_bytes

        try:
            challenge = json.loads(base64url_to_bytes(answer["response"]["clientDataJSON"]))["challenge"]
            asked_of, until = self._challenges.pop(challenge)
        except (KeyError, TypeError, ValueError, RecursionError):
            raise _expired() from None
        if asked_of != account or until < self._clock():
            raise _expired()
        return base64url_to_bytes(challenge)


def _verified(verify: Callable[[], Verified]) -> Verified:
    """Returns what `verify` returns. Raises SignInError if the answer does not verify."""
    from webauthn.helpers.exceptions import WebAuthnException

    try:
        return verify()
    except (WebAuthnException, KeyError, TypeError, ValueError, RecursionError) as error:
        raise SignInError("The device's answer is not valid. Try again, or sign in another way.") from error


def _expired() -> SignInError:
    return SignInError("That took too long, or was already answered. Try again.")
