# the summary of a program on callbacks: loops, and what kept them
unweave report --no-files "$DATA/v1/callbacks.unw"
