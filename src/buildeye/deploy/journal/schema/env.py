"""How Alembic reaches the journal: through the connection that opens it, in that connection's transaction."""

from alembic import context

context.configure(connection=context.config.attributes["connection"], version_table="deploy_journal_version")
context.run_migrations()
