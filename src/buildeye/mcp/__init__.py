"""The answers of the commands for agents, over the Model Context Protocol: standard streams, or HTTP.

Every tool only reads. What strangers wrote (logs, job names, rows) is masked, freed of control characters, bounded,
and marked as quoted where it is told as text.
"""

from buildeye.mcp.desk import Desk, desk_of
from buildeye.mcp.door import mcp_app, serve_http
from buildeye.mcp.server import mcp_server
from buildeye.mcp.stdio import serve_stdio

__all__ = ["Desk", "desk_of", "mcp_app", "mcp_server", "serve_http", "serve_stdio"]
