# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# activities are a tree by who created them
unweave report "$DATA/v1/requests.unw" activities
