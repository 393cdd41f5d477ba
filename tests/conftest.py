"""What all tests share: enough file descriptors, also where a shell allows few.

An embedded warehouse that is closed keeps some threads of the engine and their files open in its process; a test
process that opens and closes hundreds of them one after the other needs more than the usual 1,024.
"""

import resource


def pytest_configure() -> None:
    """Take as many as the system allows."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
