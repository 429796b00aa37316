# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# what is no regular file is not opened as source
mkfifo hash.h
unweave report "$DATA/v1/requests.unw" stacks --source --top 1
