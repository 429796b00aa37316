# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# a part of a trace that has only samples
unweave report "$DATA/v1/sampled.unw" --from 90ms --to 110ms stacks
