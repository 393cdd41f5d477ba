"""How Alembic reaches the spool: through the connection that opens it, in that connection's transaction."""

from alembic import context

context.configure(connection=context.config.attributes["connection"])
context.run_migrations()
