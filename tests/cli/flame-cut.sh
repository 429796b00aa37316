# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# a page that does not fit leaves nothing behind, wherever the name leads
trap '' XFSZ
echo old >page.html
ln -s page.html link.html
(ulimit -f 8 && unweave flame --no-files --wall -o page.html "$DATA/v1/server.unw")
[ -e page.html ] && echo page.html is there
echo old >page.html
(ulimit -f 8 && unweave flame --no-files --wall -o link.html "$DATA/v1/server.unw")
[ -e page.html ] && echo page.html is there
unweave flame --no-files --wall -o link.html "$DATA/v1/server.unw" && grep -q '</html>' page.html
