# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# stacks by how long tasks waited in them
unweave report "$DATA/v1/requests.unw" stacks --wait
