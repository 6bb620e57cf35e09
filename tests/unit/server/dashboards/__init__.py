"""The dashboards on which owners watch their tasks."""
