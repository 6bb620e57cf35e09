"""The browser, its site and a page for each backend: tests/support/browser/fixtures.py."""

from tests.support.browser.fixtures import bare_tab_for, blobs, bundles, harness, origin, tab_for

__all__ = ["bare_tab_for", "blobs", "bundles", "harness", "origin", "tab_for"]
