"""What holds on every page: design, languages, documentation, scripts that are still loading."""
