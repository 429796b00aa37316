# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# sites with their tasks
unweave report "$DATA/v1/requests.unw" sites
