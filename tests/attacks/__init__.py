"""What attackers try against real machines, servers and peers; a file is named after what would be gained."""
