/* SPDX-License-Identifier: Apache-2.0 */
/* usage: make_trace FILE */
#include <err.h>

#include "known.h"

#define REQUESTS 100u

int main(int argc, char **argv)
{
	if (argc != 2)
		errx(2, "usage: make_trace FILE");
	known_make(argv[1], REQUESTS);
	return 0;
}
