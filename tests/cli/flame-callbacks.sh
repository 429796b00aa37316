# a flame graph of callbacks: what armed them is below
unweave flame --no-files --wall "$DATA/v1/callbacks.unw" -o flame.svg
grep -o '<title>[^<]*' flame.svg | sort
