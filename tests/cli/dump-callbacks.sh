# callbacks are called by kind and function, and say where they were armed
unweave dump --no-files --limit 20 "$DATA/v1/callbacks.unw"
