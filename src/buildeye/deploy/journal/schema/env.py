"""How Alembic reaches the journal: through the connection that opens it, in that connection's transaction."""

from alembic import context

from buildeye.deploy.journal.schema import VERSION_TABLE

context.configure(connection=context.config.attributes["connection"], version_table=VERSION_TABLE)
context.run_migrations()
