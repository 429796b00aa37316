# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# a process id and a command are two things
unweave record -p 1 -- true
