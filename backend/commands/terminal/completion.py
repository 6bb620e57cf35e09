"""`minga completion`: prints a script by which a shell completes commands, flags and their choices."""

from __future__ import annotations

import argparse
from typing import Any

from backend.commands.terminal.all_commands import full_parser
from backend.commands.terminal.shell_completion import SCRIPTS, command_tree

EXAMPLES = (
    "minga completion bash > ~/.local/share/bash-completion/completions/minga",
    "minga completion zsh > ~/.minga.zsh",
    "minga completion fish > ~/.config/fish/completions/minga.fish",
)


def register(subparsers: Any) -> None:
    """Adds the command and its argument."""
    parser: argparse.ArgumentParser = subparsers.add_parser("completion", examples=EXAMPLES)
    parser.add_argument(
        "shell",
        metavar="SHELL",
        choices=tuple(SCRIPTS),
        help="bash, zsh (then source the file in ~/.zshrc, after compinit) or fish",
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Prints the script."""
    print(SCRIPTS[args.shell](command_tree(full_parser())), end="")
    return 0
