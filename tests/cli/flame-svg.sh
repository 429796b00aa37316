# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# a name that ends in .svg asks for a picture, which is well-formed
unweave flame --no-files --wall --title 'a <b> & c' -o x.svg "$DATA/v1/server.unw"
python3 -c 'import xml.dom.minidom as x; print(x.parse("x.svg").getElementsByTagName("title")[0].firstChild.data)'
