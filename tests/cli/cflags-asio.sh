# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# options for Asio, wherever the headers are
unweave cflags --asio --libs | sed 's/[^ ]*=*,*[/][^ ]*include/HEADERS/g; s/-L[^ ]*/-LDIRECTORY/; s/rpath,[^ ]*/rpath,DIRECTORY/'
