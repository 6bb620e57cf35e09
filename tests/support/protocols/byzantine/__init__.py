"""Simulates a Byzantine mesh: real machines, vectors and statements, liars that collude, and delays."""
