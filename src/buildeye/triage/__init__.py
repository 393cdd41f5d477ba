"""Diagnosis, job and history in; Verdict out. Pure functions: every fact and the time come in as arguments."""
