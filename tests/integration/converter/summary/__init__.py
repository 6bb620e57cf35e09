"""Manifest, operations and memory, held to models small enough to count."""
