"""What servers leave in their data folders, for tests of upgrades."""
