# callbacks by where they are armed
unweave report --no-files "$DATA/v1/callbacks.unw" sites
