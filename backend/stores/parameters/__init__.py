"""Parameter stores: hold the weights into which parameter servers assimilate work-unit results."""
