# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# a table as CSV
unweave report "$DATA/v1/requests.unw" activities --csv && unweave report "$DATA/v1/requests.unw" stacks --csv
