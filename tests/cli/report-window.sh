# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# only a part of the time
unweave report "$DATA/v1/requests.unw" --from 200ms --to 300ms activities
