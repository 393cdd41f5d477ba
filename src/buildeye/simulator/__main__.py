"""`python -m buildeye.simulator --port 8000`: GitHub's REST API over a scripted past, on this machine.

With `--send URL` the past is told to a door for webhooks instead.
"""

import argparse
import os
import sys
from datetime import UTC, datetime

from buildeye.model import BuildEyeError
from buildeye.simulator.facts import Past
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
    parser.add_argument("--send", metavar="URL", help="deliver the past as webhooks, signed with GITHUB_WEBHOOK_SECRET")
    asked = parser.parse_args()
    now = asked.now or datetime.now(UTC)
    past = build_past(asked.seed, now if now.tzinfo else now.replace(tzinfo=UTC), asked.owner, asked.name)

    if asked.send:
        return _send(past, asked.send)
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


def _send(past: Past, url: str) -> int:
    from buildeye.simulator.webhooks import deliveries, send, story_events

    sent = deliveries(story_events(past), os.environ.get("GITHUB_WEBHOOK_SECRET", ""), past.full_name)
    try:
        answers = send(url, sent)
    except BuildEyeError as error:
        sys.stderr.write(f"build-eye: {error}\n")
        return error.exit_code
    sys.stdout.write("".join(f"{count} deliveries were answered with {status}\n" for status, count in answers.items()))
    return 0 if set(answers) <= {202} else 1


if __name__ == "__main__":
    sys.exit(main())
