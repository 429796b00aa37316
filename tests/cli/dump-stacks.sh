# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# dump --stacks shows the chains
unweave dump --stacks "$DATA/v1/server.unw"
