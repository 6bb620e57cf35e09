"""Drives Chromium and the harness: a page on which tests call the web app's modules."""
