"""Tasks on their way from a model's file to a training that people can join (docs/reference/drafts.md)."""
