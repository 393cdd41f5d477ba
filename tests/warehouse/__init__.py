"""Tests of the warehouse, embedded and behind a server's door."""
