"""Who may do what: accounts, sessions, API tokens, roles on tasks, invitations."""
