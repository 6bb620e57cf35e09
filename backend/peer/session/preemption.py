"""Watches the cloud provider's metadata service for the notice that it preempts this machine."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import httpx

from backend.errors import UnreachableError
from backend.peer.session.azure import Azure
from backend.peer.session.progress import Teller

# Amazon gives two minutes of notice and asks for a poll every five seconds; Google and Azure give thirty.
POLL_SECONDS = 5.0
# A service that does not answer may still be starting with its machine.
ABSENT_POLL_SECONDS = 60.0
ANSWER_SECONDS = 2.0


class Provider(Protocol):
    """The metadata service of one cloud provider."""

    name: str

    async def is_preempted(self, client: httpx.AsyncClient) -> bool:
        """Whether the machine is about to be preempted.

        Raises UnreachableError if this machine is not the provider's.
        """


@dataclass
class Ec2:
    """Amazon EC2's spot instances, through version 2 of its instance metadata service."""

    root: str
    name: str = "Amazon EC2"
    _token: str = field(default="", repr=False)

    async def is_preempted(self, client: httpx.AsyncClient) -> bool:
        """Whether the service has an `instance-action` (stop, terminate, hibernate).

        Without one it answers 404.
        """
        if not self._token:
            lifetime = {"X-aws-ec2-metadata-token-ttl-seconds": "21600"}
            answer = await client.put(f"{self.root}/latest/api/token", headers=lifetime)
            if answer.status_code != 200:
                raise UnreachableError(f"{self.root} is no metadata service of {self.name}.")
            self._token = answer.text
        headers = {"X-aws-ec2-metadata-token": self._token}
        answer = await client.get(f"{self.root}/latest/meta-data/spot/instance-action", headers=headers)
        if answer.status_code == 401:
            # The token has expired: the next poll requests a new one.
            self._token = ""
        return answer.status_code == 200


@dataclass
class Gce:
    """Google Compute Engine's spot and preemptible instances."""

    root: str
    name: str = "Google Compute Engine"

    async def is_preempted(self, client: httpx.AsyncClient) -> bool:
        """Whether the metadata value `preempted` is TRUE."""
        headers = {"Metadata-Flavor": "Google"}
        answer = await client.get(f"{self.root}/computeMetadata/v1/instance/preempted", headers=headers)
        if answer.headers.get("Metadata-Flavor") != "Google":
            raise UnreachableError(f"{self.root} is no metadata service of {self.name}.")
        return answer.status_code == 200 and answer.text.strip() == "TRUE"


def providers(environment: Mapping[str, str] = os.environ) -> list[Provider]:
    """Returns the known providers, at the addresses that their own tools read from the environment."""
    ec2 = environment.get("AWS_EC2_METADATA_SERVICE_ENDPOINT", "http://169.254.169.254")
    gce = environment.get("GCE_METADATA_HOST", "metadata.google.internal")
    azure = environment.get("AZURE_IMDS_ENDPOINT", "http://169.254.169.254")
    return [Ec2(ec2.rstrip("/")), Gce(f"http://{gce}"), Azure(azure.rstrip("/"))]


async def watch(
    watched: Sequence[Provider],
    stop: asyncio.Event,
    teller: Teller,
    poll_seconds: float = POLL_SECONDS,
    absent_poll_seconds: float = ABSENT_POLL_SECONDS,
) -> None:
    """Sets `stop` as soon as one of the providers is about to preempt the machine, and returns.

    Polls every `poll_seconds`, and every `absent_poll_seconds` until a provider's service has answered once.
    """
    # The metadata service is on this machine's own network: no proxy is used.
    async with httpx.AsyncClient(timeout=ANSWER_SECONDS, trust_env=False) as client:
        tasks = [
            asyncio.ensure_future(
                _wait_for_notice(provider, client, teller, poll_seconds, absent_poll_seconds)
            )
            for provider in watched
        ]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
        name = next(iter(done)).result()
    teller.tell("preempted", f"{name} is about to reclaim this machine.", provider=name)
    stop.set()


async def _wait_for_notice(
    provider: Provider,
    client: httpx.AsyncClient,
    teller: Teller,
    poll_seconds: float,
    absent_poll_seconds: float,
) -> str:
    """Returns the provider's name once it is about to preempt the machine."""
    has_answered = False
    while True:
        try:
            if await provider.is_preempted(client):
                return provider.name
            if not has_answered:
                has_answered = True
                sentence = f"Watching {provider.name} for the notice that it reclaims this machine."
                teller.tell("preemptible", sentence, provider=provider.name)
            await asyncio.sleep(poll_seconds)
        except (httpx.HTTPError, UnreachableError):
            # A service that answered once is only busy.
            await asyncio.sleep(poll_seconds if has_answered else absent_poll_seconds)
