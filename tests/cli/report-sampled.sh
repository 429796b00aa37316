# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# a trace of samples alone says nothing about when tasks lived
unweave report "$DATA/v1/sampled.unw"
