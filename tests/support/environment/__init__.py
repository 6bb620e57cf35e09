"""What tests need of a machine: databases, networks, disks, data servers, and the check of it."""
