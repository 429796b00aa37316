# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# dump --kind takes a list
unweave dump --kind=wake,frame-resume -k idle "$DATA/v1/server.unw"
