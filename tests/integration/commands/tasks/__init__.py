"""`minga task` and its subcommands, run as their users run them."""
