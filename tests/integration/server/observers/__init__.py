"""What a real server tells operators: its log and the commands after rounds."""
