"""The answers of the commands for agents, over the Model Context Protocol: standard streams, or HTTP.

Every tool only reads. What strangers wrote (logs, job names, rows) is masked, freed of control characters, bounded,
and marked as quoted where it is told as text. Importing the parts loads the SDK, which takes a second: `door` has what
`build-eye serve` mounts and `build-eye mcp --http` runs, `stdio` what runs on standard streams.
"""

from typing import Final

PATH: Final = "/mcp"
"""Where the tools are on a server."""
