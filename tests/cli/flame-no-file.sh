# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# flame needs a trace
unweave flame
