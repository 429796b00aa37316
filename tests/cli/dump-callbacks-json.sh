# what is known of callbacks, for programs
unweave dump --no-files --json --kind create,due,woke --task 2 --task 34 --task 38 "$DATA/v1/callbacks.unw"
