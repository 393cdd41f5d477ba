"""When to tell whom: messages to people, through apprise."""
