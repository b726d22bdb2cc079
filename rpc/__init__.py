"""Browser tabs as devices: a broker, the page that joins it, and Python's side. Imports nothing of the compiler.

`client.connect` and `start_broker.start_broker` are where to begin; both need the extra `[tune]`.
"""
