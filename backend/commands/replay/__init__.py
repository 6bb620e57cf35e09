"""`minga replay`: the command and its sentences; what it computes is in backend/peer/replay."""
