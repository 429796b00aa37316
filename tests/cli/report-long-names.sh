# of a name that is too long for its column, the end is shown as well
unweave report --no-files "$DATA/v1/behind.unw" activities --incomplete
