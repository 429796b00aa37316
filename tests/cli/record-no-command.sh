# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# a command that cannot be executed
unweave record -- ./there-is-no-such-program
