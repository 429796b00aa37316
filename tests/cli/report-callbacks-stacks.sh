# callbacks wait below what armed them
unweave report --no-files "$DATA/v1/callbacks.unw" stacks --wait
