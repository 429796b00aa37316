# sites of callbacks: what is called, and where it is armed
unweave info --no-files "$DATA/v1/callbacks.unw"
