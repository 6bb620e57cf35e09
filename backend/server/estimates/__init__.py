"""What a plan will cost its volunteers and its server, and plans that fit a model and its data."""
