"""Start a version, check it, cut over, watch it, and be back on the old one when it is bad.

Judges are pure; the journal is the memory; the supervisor is the one that acts.
"""
