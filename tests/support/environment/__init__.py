"""Provides databases, networks, disks and data servers for tests, and checks the machine for them."""
