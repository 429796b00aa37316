# a loop that is late though no callback is long
unweave report --no-files "$DATA/v1/behind.unw" | sed -n '/^  loops/,/^  CPU/p; /^Findings/,/^$/p'
