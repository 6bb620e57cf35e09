"""Real Chromium: pages of a real server, and the workers, links and memory of the web app."""
