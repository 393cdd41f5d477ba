"""The one that acts: it moves deployments through their states, and is killed and started again without harm.

Every step reads the journal, looks at what is real, does one idempotent thing and writes a compare-and-set. So a step
can be done twice, and a supervisor that starts anew goes on where the journal and the processes stand.
"""
