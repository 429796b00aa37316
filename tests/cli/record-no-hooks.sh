# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# a program without libunweave: it runs, and that is said
UNWEAVE_ADAPTERS=/nowhere unweave record -- echo it ran
