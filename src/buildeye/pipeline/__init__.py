"""One pass as a story: fetch -> collect -> classify -> recommend -> report -> archive.

Each stage reads JSON and writes JSON, so each can run alone, again, or on another machine.
"""
