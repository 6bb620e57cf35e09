"""`/api/drafts`: prepares tasks before their launch, with thin handlers over `server.drafts`."""
