# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# dump shows every kind of event
unweave dump "$DATA/v1/server.unw"
