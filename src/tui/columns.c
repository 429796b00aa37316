/* SPDX-License-Identifier: Apache-2.0 */
#include "tui/columns.h"

static int total(const struct place *places, int count)
{
	int sum = -1;

	for (int i = 0; i < count; i++)
		if (places[i].width)
			sum += places[i].width + 1;
	return sum;
}

/* The least important of those that are there and need not be; -1: none. */
static int least_important(const struct column *columns, const struct place *places, int count)
{
	int found = -1;

	for (int i = 0; i < count; i++)
		if (places[i].width && columns[i].rank > 1 &&
		    (found < 0 || columns[i].rank >= columns[found].rank))
			found = i;
	return found;
}

/* One character to each that can take it, round by round, so that they grow alike. */
static void share(const struct column *columns, int count, int left, struct place *ret)
{
	bool grown = true;

	while (left > 0 && grown) {
		grown = false;
		for (int i = 0; i < count && left > 0; i++) {
			if (!ret[i].width || ret[i].width >= columns[i].most)
				continue;
			ret[i].width++;
			left--;
			grown = true;
		}
	}
}

void columns_fit(const struct column *columns, int count, int room, struct place *ret)
{
	int x = 0;

	for (int i = 0; i < count; i++)
		ret[i] = (struct place){.width = columns[i].least};
	while (total(ret, count) > room) {
		int out = least_important(columns, ret, count);

		if (out < 0)
			break;
		ret[out].width = 0;
	}
	share(columns, count, room - total(ret, count), ret);
	for (int i = 0; i < count; i++) {
		ret[i].x = x;
		x += ret[i].width ? ret[i].width + 1 : 0;
	}
}

int columns_find(const struct place *places, int count, int x)
{
	for (int i = 0; i < count; i++)
		if (places[i].width && x >= places[i].x && x < places[i].x + places[i].width)
			return i;
	return -1;
}
