"""Whether the provider of a machine is about to take it away: what its metadata service says."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import httpx

from backend.errors import UnreachableError
from backend.peer.session.progress import Teller

# Amazon gives two minutes and asks to look every five seconds; Google gives thirty seconds.
EVERY = 5.0
# A service that is not there may still be starting with its machine.
AWAY = 60.0
ANSWER_SECONDS = 2.0


class Provider(Protocol):
    """One kind of metadata service."""

    name: str

    async def leaves(self, client: httpx.AsyncClient) -> bool:
        """Whether the machine is about to be taken. Raises UnreachableError where it is no such machine."""


@dataclass
class Ec2:
    """Amazon EC2's spot instances, by version 2 of its instance metadata service."""

    root: str
    name: str = "Amazon EC2"
    _token: str = field(default="", repr=False)

    async def leaves(self, client: httpx.AsyncClient) -> bool:
        """An `instance-action` is there (stop, terminate, hibernate); else the answer is 404."""
        if not self._token:
            lifetime = {"X-aws-ec2-metadata-token-ttl-seconds": "21600"}
            answer = await client.put(f"{self.root}/latest/api/token", headers=lifetime)
            if answer.status_code != 200:
                raise UnreachableError(f"{self.root} is no metadata service of {self.name}.")
            self._token = answer.text
        headers = {"X-aws-ec2-metadata-token": self._token}
        answer = await client.get(f"{self.root}/latest/meta-data/spot/instance-action", headers=headers)
        if answer.status_code == 401:
            # The token is over: the next look takes a new one.
            self._token = ""
        return answer.status_code == 200


@dataclass
class Gce:
    """Google Compute Engine's spot and preemptible instances."""

    root: str
    name: str = "Google Compute Engine"

    async def leaves(self, client: httpx.AsyncClient) -> bool:
        """The value `preempted` is TRUE."""
        headers = {"Metadata-Flavor": "Google"}
        answer = await client.get(f"{self.root}/computeMetadata/v1/instance/preempted", headers=headers)
        if answer.headers.get("Metadata-Flavor") != "Google":
            raise UnreachableError(f"{self.root} is no metadata service of {self.name}.")
        return answer.status_code == 200 and answer.text.strip() == "TRUE"


def providers(environment: Mapping[str, str] = os.environ) -> list[Provider]:
    """All that are known, at the addresses that their own programs take from the environment, too."""
    ec2 = environment.get("AWS_EC2_METADATA_SERVICE_ENDPOINT", "http://169.254.169.254")
    gce = environment.get("GCE_METADATA_HOST", "metadata.google.internal")
    return [Ec2(ec2.rstrip("/")), Gce(f"http://{gce}")]


async def watch(
    watched: Sequence[Provider],
    stop: asyncio.Event,
    teller: Teller,
    every: float = EVERY,
    away: float = AWAY,
) -> None:
    """Sets `stop` as soon as one of these says that the machine is about to be taken; then it is done."""
    # Metadata are of this machine: no proxy is on the way.
    async with httpx.AsyncClient(timeout=ANSWER_SECONDS, trust_env=False) as client:
        tasks = [asyncio.ensure_future(_wait_for_notice(one, client, teller, every, away)) for one in watched]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for one in tasks:
                one.cancel()
        name = next(iter(done)).result()
    teller.tell("preempted", f"{name} is about to take this machine away.", provider=name)
    stop.set()


async def _wait_for_notice(
    provider: Provider, client: httpx.AsyncClient, teller: Teller, every: float, away: float
) -> str:
    """The provider's name, once it takes the machine."""
    has_answered = False
    while True:
        try:
            if await provider.leaves(client):
                return provider.name
            if not has_answered:
                has_answered = True
                sentence = f"Watching {provider.name} for the notice that it takes this machine away."
                teller.tell("preemptible", sentence, provider=provider.name)
            await asyncio.sleep(every)
        except (httpx.HTTPError, UnreachableError):
            # Whose service answered once is only busy.
            await asyncio.sleep(every if has_answered else away)
