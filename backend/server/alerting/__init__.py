"""Records alerts and sends them to webhooks and by e-mail."""
