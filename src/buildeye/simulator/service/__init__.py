"""The example service: a small web application whose versions are good or go bad in a chosen way.

A deploy supervisor starts it as it would any application: a listening socket as descriptor 3, a nonce in the
environment. It knows nothing else of who runs it. Start it with `python -m buildeye.simulator.service`.
"""
