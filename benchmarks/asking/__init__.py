"""Parts of benchmarks/ask.py: the rows that are asked, and each question."""
