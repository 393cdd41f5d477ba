"""Reading one log: raw bytes in, a Diagnosis out. No network, no database, no clock.

`source.open_logs` opens, `ruleset.load_ruleset` brings the rules, `diagnose.diagnose` reads; `baseline.line_set` is
what a passing log is remembered by.
"""
