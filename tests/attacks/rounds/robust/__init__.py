"""Well-formed lies in rounds whose updates are aggregated by a robust rule."""
