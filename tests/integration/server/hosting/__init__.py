"""Tasks that are deleted while a real server hosts them, and versions that it no longer keeps."""
