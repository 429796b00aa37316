# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# what cannot be compared is said
unweave flame --diff missing.unw "$DATA/v1/server.unw"
