"""Attacks on updates: membership inference and label leakage, with and without privacy."""
