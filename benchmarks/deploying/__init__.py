"""What the tests and benchmarks of deployments share: a place to deploy in, and supervisors that are killed."""
