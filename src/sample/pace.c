/* SPDX-License-Identifier: Apache-2.0 */
#include "sample/pace.h"

#define NS_PER_S UINT64_C(1000000000)
#define OFTEN_PER_S 2000u /* at 2 us each, less than half a percent of a thread's time */
#define CALM_PER_S 1000u
#define CALM_LOOKS 10u          /* until it is believed that this lasts */
#define SPAN_NS (NS_PER_S / 20) /* less between two looks says too little */
#define RAN_SHARE 100u          /* of the time: it ran for one part in so many at least */

void pace_note(struct pace *pace, const struct pace_look *look)
{
	uint64_t span = look->now_ns - pace->last.now_ns;
	uint64_t switches = look->switches - pace->last.switches;
	uint64_t ran = look->ran_ns - pace->last.ran_ns;
	bool first = pace->last.now_ns == 0;

	if (!first && span < SPAN_NS)
		return;
	pace->last = *look;
	if (first)
		return;
	if (switches > OFTEN_PER_S * span / NS_PER_S) {
		pace->often = true;
		pace->calm = 0;
	} else if (switches > CALM_PER_S * span / NS_PER_S) {
		pace->calm = 0;
	} else if (ran > span / RAN_SHARE && ++pace->calm >= CALM_LOOKS) {
		pace->often = false;
	}
}
