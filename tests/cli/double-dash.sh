# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# -- ends the options
cp "$DATA/v1/no-events.unw" ./-x
unweave verify -- -x
