# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# verify is content with good traces
unweave verify "$DATA/v1/server.unw" "$DATA/v1/loop.unw" "$DATA/v1/siblings.unw" \
	"$DATA/v1/unknown.unw"
