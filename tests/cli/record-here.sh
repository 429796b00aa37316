# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# a program of the current directory
echo '#!/bin/sh' >a-service-of-mine
chmod +x a-service-of-mine
unweave record -o t.unw -- a-service-of-mine
