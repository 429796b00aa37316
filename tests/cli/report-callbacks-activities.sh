# what armed what is a tree; what stands is apart from its calls
unweave report --no-files "$DATA/v1/callbacks.unw" activities
