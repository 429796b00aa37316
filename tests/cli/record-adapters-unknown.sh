# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# a name that no adapter has
unweave record --with libuv,libev -- true
