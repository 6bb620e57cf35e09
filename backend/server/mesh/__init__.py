"""The host of a decentralized task: it introduces peers, says who averages with whom, keeps records."""
