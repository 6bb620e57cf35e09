"""Generates the TypeScript checks of messages from their Python types."""
