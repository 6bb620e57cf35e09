"""Where parameters stand while parameter servers assimilate the results of work units into them."""
