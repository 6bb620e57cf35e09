"""Trains clean and backdoored models, and measures how well the integrity score tells them apart."""
