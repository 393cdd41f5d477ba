"""What the server shows and takes in: at present the door for GitHub's webhooks, and a sign of life.

A delivery is acknowledged when it is on disk in the spool, and leaves the spool when the warehouse has it.
"""
