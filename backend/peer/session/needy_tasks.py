"""Asks a server which of its tasks need this peer, and leaves out those in which it cannot take part."""

from __future__ import annotations

import asyncio
from collections.abc import Collection

import httpx

from backend.errors import PeerError, UnreachableError
from backend.peer.session.join import JoinOptions
from backend.peer.session.progress import Teller
from backend.peer.session.server_address import Choice, ServerAddress, list_tasks, model_needs, task_data
from backend.peer.session.task_fit import has_gpu, model_obstacle, task_obstacle
from backend.peer.training.graph_memory import memory_limit


class NeedyTasks:
    """Owns what is known of a server's tasks. `named` are those that the person named with a share."""

    def __init__(
        self,
        client: httpx.AsyncClient,
        server: ServerAddress,
        options: JoinOptions,
        named: Collection[str],
        reporter: Teller,
    ) -> None:
        self._client, self._server = client, server
        self._options, self._named = options, named
        self._reporter = reporter
        self._choices: dict[str, Choice] = {}
        # Why this peer takes no part, by the task's name and bundle; None if it may.
        self._obstacles: dict[tuple[str, str], str | None] = {}

    def choice(self, name: str) -> Choice:
        """Returns the task called `name`, as the server described it last."""
        return self._choices[name]

    async def ask(self) -> list[str]:
        """Returns the tasks that need this peer now. Raises PeerError, UnreachableError without an answer."""
        self._choices = {task.name: task for task in await list_tasks(self._client, self._server)}
        needy = [task for task in self._choices.values() if task.needs_clients]
        return [task.name for task in needy if await self._obstacle(task) is None]

    async def _obstacle(self, task: Choice) -> str | None:
        """Returns why this peer takes no part in `task`; reports it once."""
        key = task.name, task.bundle
        if key not in self._obstacles:
            try:
                obstacle = await self._find_obstacle(task)
            except UnreachableError:
                raise
            except PeerError as error:
                obstacle = str(error)
            self._obstacles[key] = obstacle
            if obstacle is not None:
                sentence = f"This peer takes no part in {task.name}: {obstacle}."
                self._reporter.tell("excluded", sentence, task=task.name)
        return self._obstacles[key]

    async def _find_obstacle(self, task: Choice) -> str | None:
        obstacle = task_obstacle(task, self._options)
        if obstacle is not None:
            return obstacle
        data = await task_data(self._client, self._server, task.name)
        if data.source == "url" and task.name not in self._named:
            return f"its data lie at other addresses; name it with --share {task.name}=1"
        needs = await model_needs(self._client, self._server, task.name)
        gpu = await asyncio.to_thread(has_gpu)
        return model_obstacle(needs, self._options, memory_limit(), gpu)
