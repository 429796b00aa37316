# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# a file that may not be read
cp "$DATA/v1/server.unw" private.unw
chmod 0 private.unw
if [ "$(id -u)" = 0 ]; then
	# The tool must be where the other user gets at it.
	command -v setpriv >/dev/null || exit 77
	chmod 711 .. .
	cp "$(command -v unweave)" unweave
	chmod 755 unweave
	setpriv --reuid 65534 --regid 65534 --clear-groups ./unweave --version >/dev/null || exit 77
	setpriv --reuid 65534 --regid 65534 --clear-groups ./unweave info private.unw
else
	unweave info private.unw
fi
