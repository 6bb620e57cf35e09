"""Controls access: accounts, sessions, API tokens, roles on tasks, invitations."""
