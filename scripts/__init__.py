"""Programs of the repository itself: set-up and measurements. Nothing that users run lives here."""
