"""Questions over the warehouse, each a saved query and a small pure function."""
