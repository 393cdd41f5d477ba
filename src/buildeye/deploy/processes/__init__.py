"""The processes of versions: started under a keeper, known by more than their pid, stopped to the last descendant.

`statefile`, `proctable`, `connections`, `child` and `keeper` are what a keeper runs: the standard library alone, and
little of it, since a keeper must be there within milliseconds and outlives upgrades of this package.
"""
