"""Attacks by owners and by their files, on the server's disk, threads and other owners."""
