"""A stranger that looks like GitHub: its REST API over a scripted three weeks of one invented repository.

The demo, the tests and the benchmarks run against it. It knows nothing of the rest of Build-Eye but the words of the
model. `build_past` is pure; `app.create_app` makes the ASGI app and `server.running` serves it in a thread. Both are
imported from their modules, so that importing this package stays light.
"""

from buildeye.simulator.facts import Past, Truth
from buildeye.simulator.faults import Fault, Faults
from buildeye.simulator.past import build_busy_day, build_past

__all__ = ["Fault", "Faults", "Past", "Truth", "build_busy_day", "build_past"]
