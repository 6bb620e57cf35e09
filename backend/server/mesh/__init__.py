"""Hosts decentralized tasks: introduces peers, forms their groups, relays frames, keeps records."""
