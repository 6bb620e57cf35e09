"""How the commands meet their users: the list of commands, help, errors, completion and progress.

What a command does stays in its own module.
"""
