# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# For test scripts that speak TAP.

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tests=0 failed=0

# try SENTENCE COMMAND...: one test; what the command printed is shown if it fails.
try()
{
	sentence=$1
	shift
	tests=$((tests + 1))
	if "$@" >"$work/said" 2>&1; then
		echo "ok $tests - $sentence"
	else
		failed=$((failed + 1))
		sed 's/^/# /' "$work/said"
		echo "not ok $tests - $sentence"
	fi
}

finish()
{
	echo "1..$tests"
	[ "$failed" -eq 0 ]
}
