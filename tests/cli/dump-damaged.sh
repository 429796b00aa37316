# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# dump shows what is readable, and says that there are faults
unweave dump --kind lost "$DATA/bad/payload-bit.unw"
