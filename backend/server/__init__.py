"""Hosts tasks: runs the effects of the protocol machines, and owns drafts, accounts and exports."""
