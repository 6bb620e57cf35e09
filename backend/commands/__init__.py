"""The commands behind `minga ...`, one file each."""
