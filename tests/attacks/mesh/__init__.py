"""Attacks on peers that average among themselves, and what a fault costs them."""
