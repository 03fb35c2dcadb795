"""HTTP: what is asked is checked here, done by the engine, and answered as JSON.

One file a noun. A route is a row in a table (`route.py`) from which both the server and the
OpenAPI document are made, so that what is documented is what is checked.
"""
