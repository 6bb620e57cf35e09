"""Lists all commands by the people who use them, with the summaries and examples of `minga --help`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class CommandEntry:
    """A command: its module in backend.commands, and a summary that continues after its name."""

    module: str
    summary: str


@dataclass(frozen=True)
class CommandGroup:
    """Commands for one kind of user."""

    title: str
    commands: Mapping[str, CommandEntry]
    examples: Sequence[str] = ()


GROUPS = (
    CommandGroup(
        "See it work",
        {"demo": CommandEntry("demo.demo", "start a server, a task and a peer here, and join by browser")},
    ),
    CommandGroup(
        "Owners: train your model with others",
        {
            "task": CommandEntry("tasks.task", "create, check, upload, follow and download a training"),
            "inspect": CommandEntry("inspect", "show what a model needs on phones, laptops and GPUs"),
            "convert": CommandEntry("convert", "make a training bundle of a Keras model"),
            "shard": CommandEntry("data.shard", "cut data into shards"),
            "simulate": CommandEntry("simulate", "try a task's plan with simulated clients"),
            "privacy": CommandEntry("privacy", "compute the noise of a privacy guarantee, or the reverse"),
            "leak": CommandEntry("leak.leak", "attack a task's updates: what a server could see of pictures"),
            "attack": CommandEntry("attack.attack", "attack a task by lying clients: what each rule bears"),
            "cost": CommandEntry("cost", "estimate what a training costs on rented machines"),
        },
        (
            "minga task new flowers --from image",
            "minga task push flowers --to https://minga.example.org --launch",
        ),
    ),
    CommandGroup(
        "Volunteers and peers: lend a machine",
        {"peer": CommandEntry("peer", "take part with TensorFlow, without a browser")},
        ("minga peer join https://minga.example.org --task digits",),
    ),
    CommandGroup(
        "Operators: run a server",
        {
            "serve": CommandEntry("serve", "start the server"),
            "account": CommandEntry("account", "create sign-in links for this server's accounts"),
        },
        ("minga serve --host 0.0.0.0 --data-dir data",),
    ),
    CommandGroup(
        "Developers",
        {
            "build": CommandEntry("build", "build tasks of the gallery, and the documentation"),
            "replay": CommandEntry("replay.replay", "train a work unit again and compare its bits"),
            "completion": CommandEntry("terminal.completion", "let your shell complete commands and flags"),
        },
        ("minga build digits",),
    ),
)

COMMANDS = {name: entry for group in GROUPS for name, entry in group.commands.items()}
