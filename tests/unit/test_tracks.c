/* SPDX-License-Identifier: Apache-2.0 */
#include "view/tracks.h"

#include "check.h"

static void what_would_overlap_is_cut(void)
{
	uint64_t last = 100;
	struct span span = tracks_cut(&last, 150, 200);

	CHECK(span.start == 150 && span.end == 200 && last == 200);
	span = tracks_cut(&last, 190, 250);
	CHECK(span.start == 200 && span.end == 250 && last == 250);
	span = tracks_cut(&last, 10, 20);
	CHECK(span.start == 250 && span.end == 250 && last == 250);
	span = tracks_cut(&last, 250, 250);
	CHECK(span.start == 250 && span.end == 250);
}

static void each_thread_and_depth_has_a_lane(void)
{
	struct tracks tracks;
	struct lane *lanes[50][3];

	CHECK_EQ(tracks_init(&tracks), 0);
	for (uint32_t thread = 0; thread < 50; thread++)
		for (uint32_t depth = 0; depth < 3; depth++)
			lanes[thread][depth] = tracks_lane(&tracks, thread, depth);
	for (uint32_t thread = 0; thread < 50; thread++)
		for (uint32_t depth = 0; depth < 3; depth++) {
			struct lane *lane = tracks_lane(&tracks, thread, depth);

			CHECK(lane == lanes[thread][depth]);
			CHECK_EQ(lane->thread, thread);
			CHECK_EQ(lane->depth, depth);
			CHECK_EQ(lane->number, thread * 3 + depth);
		}
	CHECK(tracks_lane(&tracks, 1, 1000) == tracks_lane(&tracks, 1, TRACKS_DEPTH_MOST));
	tracks_fini(&tracks);
}

static void a_task_keeps_its_track_and_leaves_it_to_the_next(void)
{
	struct model_task one = {.id = 1, .created = 10}, other = {.id = 2, .created = 20};
	struct task_track *first, *second;
	struct tracks tracks;

	CHECK_EQ(tracks_init(&tracks), 0);
	first = tracks_of(&tracks, &one, "one");
	CHECK_EQ(first->end, 10);
	first->flow = 7;
	first->told = true;
	/* It is called what it was called first. */
	CHECK(tracks_of(&tracks, &one, "renamed") == first);
	CHECK_STR_EQ(first->name, "one");
	second = tracks_of(&tracks, &other, "other");
	CHECK(second != first);
	tracks_end(&tracks, &one);
	tracks_end(&tracks, &one);
	CHECK(!one.user);

	one.created = 30;
	CHECK(tracks_of(&tracks, &one, "again") == first);
	CHECK_STR_EQ(first->name, "again");
	CHECK(first->end == 30 && first->flow == 0 && !first->told);
	/* What still lives is freed with all the rest. */
	tracks_fini(&tracks);
}

int main(void)
{
	RUN(what_would_overlap_is_cut);
	RUN(each_thread_and_depth_has_a_lane);
	RUN(a_task_keeps_its_track_and_leaves_it_to_the_next);
	return check_done();
}
