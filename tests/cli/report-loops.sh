# event loops: idle share, iterations, lag
unweave report --no-files "$DATA/v1/callbacks.unw" loops
unweave report --no-files "$DATA/v1/callbacks.unw" loops --json --filter main
unweave report --no-files "$DATA/v1/callbacks.unw" loops --csv --sort lag
unweave report --no-files "$DATA/v1/requests.unw" loops
