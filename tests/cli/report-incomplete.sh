# what was begun and never completed: how old it is, and where it was made
unweave report --no-files "$DATA/v1/callbacks.unw" activities --incomplete
unweave report --no-files "$DATA/v1/requests.unw" --incomplete --csv
