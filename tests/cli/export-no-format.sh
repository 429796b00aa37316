# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# a format must be given
unweave export "$DATA/v1/server.unw"
