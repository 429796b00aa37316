# in exports, callbacks stand on what armed them
for time in cpu wall; do
	unweave export --no-files --format folded --$time -o - "$DATA/v1/callbacks.unw"
done
unweave export --no-files --format chrome -o - "$DATA/v1/callbacks.unw"
