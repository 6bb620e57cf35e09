"""The wizard of drafts in a real browser, step by step."""
