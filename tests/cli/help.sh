# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# --help shows the commands
unweave --help
