# the chain of a callback is shown where it is made
unweave dump --no-files --stacks --kind create --to 50ms "$DATA/v1/callbacks.unw"
