# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# threads, also one that only samples know
unweave report "$DATA/v1/requests.unw" threads
