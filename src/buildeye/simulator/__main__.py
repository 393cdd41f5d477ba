"""`python -m buildeye.simulator --port 8000`: GitHub's REST API over a scripted past, on this machine."""

import argparse
import sys
from datetime import UTC, datetime

from buildeye.model import BuildEyeError
from buildeye.simulator.past import NAME, OWNER, build_past


def main() -> int:
    """Serves until interrupted; the exit code is 3 when the port cannot be used."""
    parser = argparse.ArgumentParser(prog="python -m buildeye.simulator", description=__doc__)
    parser.add_argument("--port", type=int, default=8000, help="port on 127.0.0.1 (8000)")
    parser.add_argument("--seed", type=int, default=7, help="seed of the past (7)")
    parser.add_argument("--now", type=datetime.fromisoformat, help="the moment the past leads up to (the present)")
    parser.add_argument("--owner", default=OWNER, help=f"owner of the repository ({OWNER})")
    parser.add_argument("--name", default=NAME, help=f"name of the repository ({NAME})")
    parser.add_argument("--token", help="the only token to accept (any)")
    asked = parser.parse_args()
    now = asked.now or datetime.now(UTC)
    past = build_past(asked.seed, now if now.tzinfo else now.replace(tzinfo=UTC), asked.owner, asked.name)

    from buildeye.simulator.server import serve

    sys.stderr.write(f"{past.full_name}: {len(past.attempts)} attempts of runs at http://127.0.0.1:{asked.port}\n")
    try:
        serve(past, asked.port, asked.token)
    except KeyboardInterrupt:
        return 0
    except BuildEyeError as error:
        sys.stderr.write(f"build-eye: {error}\n")
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
