"""Tests of the evidence against single updates, and of suspicion over rounds."""
