"""Who would read kept updates ([security.kept_updates]), or find them after they should be gone."""
