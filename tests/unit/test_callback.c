/* SPDX-License-Identifier: Apache-2.0 */
/* Callbacks: what is recorded of them, and the sites that say how they came about. */
#include <pthread.h>

#include "arena/arena.h"
#include "collect.h"
#include "emit/cause.h"
#include "emit/emit.h"
#include "live.h"
#include "unweave/callback.h"

static const char *const kind_read = "read";
static const char *const kind_write = "write";

/* Where things are armed: any addresses will do. */
static char places[64];

/* What the arena says of a site; zeros if it says nothing. */
static struct arena_site site_in_arena(uint32_t id)
{
	const char *names = arena_names(emit_process.control);
	uint32_t used = atomic_load(&emit_process.control->names_used);
	struct arena_site none = {0};

	for (uint32_t at = 0; at < used;) {
		const struct arena_site *site = (const void *)(names + at);

		if (site->id == id)
			return *site;
		at += site->bytes;
	}
	return none;
}

static void check_site(uint32_t id, unsigned flags, const void *code, const void *place,
		       uint32_t under)
{
	struct arena_site site = site_in_arena(id);

	CHECK_EQ(site.id, id);
	CHECK_EQ(site.flags, flags);
	CHECK_EQ(site.code, (uintptr_t)code);
	CHECK_EQ(site.place, (uintptr_t)place);
	CHECK_EQ(site.under, under);
}

static struct unweave_event event_at(size_t *at)
{
	return *at < collected.count ? collected.seen[(*at)++].event : (struct unweave_event){0};
}

static struct unweave_event expect(size_t *at, enum unweave_event_kind kind, uint64_t task)
{
	struct unweave_event event = event_at(at);

	CHECK_EQ(event.kind, kind);
	CHECK_EQ(event.task, task);
	return event;
}

/* What a callback of these tests does: arms `next`, if there is one, and returns `result`. */
struct plan {
	const void *next;
	const void *place; /* where it does; NULL: &places[1] */
	uint64_t armed;    /* as what */
	uint64_t current;
	int result;
};

static int follow_plan(struct unweave_link *none, void *context)
{
	struct plan *plan = context;

	CHECK(!none);
	unweave_here(&plan->current, NULL, NULL, 0);
	if (plan->next)
		plan->armed = unweave_callback_arm(kind_write, plan->next,
						   plan->place ? plan->place : &places[1], 0);
	return plan->result;
}

static int call(uint64_t task, struct plan *plan, const void *code, enum unweave_call_end end)
{
	return unweave_callback_call(&(struct unweave_call){
		.task = task, .go = follow_plan, .context = plan, .code = code, .end = end});
}

static void a_callback_is_a_task_from_its_arming_to_its_call(void)
{
	struct plan plan = {.result = 7};
	struct unweave_event created;
	uint64_t task;
	size_t at = 0;

	collect_begin(0);
	task = unweave_callback_arm(kind_read, &places[10], &places[0], 0);
	CHECK_EQ(call(task, &plan, &places[10], UNWEAVE_CALL_ENDS), 7);
	unweave_stop();

	expect(&at, UNWEAVE_EVENT_RESET, 0);
	created = expect(&at, UNWEAVE_EVENT_CREATE, task);
	check_site((uint32_t)created.value, 0, &places[10], &places[0], 0);
	expect(&at, UNWEAVE_EVENT_RESUME, task);
	CHECK_EQ(plan.current, task);
	CHECK_EQ(expect(&at, UNWEAVE_EVENT_COMPLETE, task).value, UNWEAVE_OK);
	CHECK_EQ(at, collected.count);
}

static void a_call_that_asks_ends_its_task_when_it_says_so(void)
{
	struct plan stays = {.result = 1}, ends = {.result = 0};
	uint64_t task;
	size_t at = 1;

	collect_begin(0);
	task = unweave_callback_arm(kind_read, &places[10], &places[0], 0);
	call(task, &stays, &places[10], UNWEAVE_CALL_ASKS);
	call(task, &ends, &places[10], UNWEAVE_CALL_STAYS);
	call(task, &ends, &places[10], UNWEAVE_CALL_ASKS);
	unweave_stop();

	expect(&at, UNWEAVE_EVENT_CREATE, task);
	expect(&at, UNWEAVE_EVENT_RESUME, task);
	expect(&at, UNWEAVE_EVENT_SUSPEND, task);
	expect(&at, UNWEAVE_EVENT_RESUME, task);
	expect(&at, UNWEAVE_EVENT_SUSPEND, task);
	expect(&at, UNWEAVE_EVENT_RESUME, task);
	expect(&at, UNWEAVE_EVENT_COMPLETE, task);
	CHECK_EQ(at, collected.count);
}

static void each_call_of_a_standing_one_is_its_child(void)
{
	struct plan plan = {.next = &places[11]};
	struct unweave_event standing, fired, armed;
	uint64_t task;
	size_t at = 1;

	collect_begin(0);
	task = unweave_callback_arm(kind_read, &places[12], &places[0], UNWEAVE_STANDING);
	call(task, &plan, &places[12], UNWEAVE_CALL_FIRES);
	unweave_callback_drop(plan.armed);
	call(task, &plan, &places[12], UNWEAVE_CALL_FIRES);
	unweave_callback_drop(plan.armed);
	unweave_callback_drop(task);
	unweave_stop();

	standing = expect(&at, UNWEAVE_EVENT_CREATE, task);
	check_site((uint32_t)standing.value, UNWEAVE_SITE_STANDING, &places[12], &places[0], 0);
	for (int i = 0; i < 2; i++) {
		fired = event_at(&at);
		CHECK_EQ(fired.kind, UNWEAVE_EVENT_CREATE);
		CHECK_EQ(fired.other, task);
		check_site((uint32_t)fired.value, UNWEAVE_SITE_FIRED, &places[12], &places[0], 0);
		CHECK_EQ(expect(&at, UNWEAVE_EVENT_RESUME, fired.task).time, fired.time);
		armed = event_at(&at);
		CHECK_EQ(armed.other, fired.task);
		check_site((uint32_t)armed.value, 0, &places[11], &places[1],
			   (uint32_t)fired.value);
		expect(&at, UNWEAVE_EVENT_COMPLETE, fired.task);
		CHECK_EQ(expect(&at, UNWEAVE_EVENT_COMPLETE, armed.task).value, UNWEAVE_CANCELLED);
	}
	CHECK_EQ(expect(&at, UNWEAVE_EVENT_COMPLETE, task).value, UNWEAVE_CANCELLED);
	CHECK_EQ(at, collected.count);
}

static void one_that_turns_out_to_stand_has_calls_of_its_kind(void)
{
	struct plan plan = {.result = 1};
	struct unweave_event armed, fired;
	uint64_t task;
	size_t at = 1;

	collect_begin(0);
	task = unweave_callback_arm(kind_read, &places[16], &places[0], 0);
	call(task, &plan, &places[16], UNWEAVE_CALL_ASKS);
	call(task, &plan, &places[16], UNWEAVE_CALL_FIRES);
	unweave_callback_drop(task);
	unweave_stop();

	armed = expect(&at, UNWEAVE_EVENT_CREATE, task);
	check_site((uint32_t)armed.value, 0, &places[16], &places[0], 0);
	expect(&at, UNWEAVE_EVENT_RESUME, task);
	expect(&at, UNWEAVE_EVENT_SUSPEND, task);
	fired = event_at(&at);
	CHECK_EQ(fired.kind, UNWEAVE_EVENT_CREATE);
	CHECK_EQ(fired.other, task);
	check_site((uint32_t)fired.value, UNWEAVE_SITE_FIRED, &places[16], &places[0], 0);
}

static void one_that_arms_itself_again_has_the_chain_of_the_first_time(void)
{
	struct plan plan = {.next = &places[13]};
	uint64_t sites[4], task;
	size_t seen = 0;

	collect_begin(0);
	task = unweave_callback_arm(kind_read, &places[13], &places[0], 0);
	for (int i = 0; i < 4; i++) {
		call(task, &plan, &places[13], UNWEAVE_CALL_ENDS);
		task = plan.armed;
	}
	unweave_callback_drop(task);
	unweave_stop();

	for (size_t i = 0; i < collected.count && seen < 4; i++)
		if (collected.seen[i].event.kind == UNWEAVE_EVENT_CREATE)
			sites[seen++] = collected.seen[i].event.value;
	CHECK_EQ(seen, 4);
	/* Armed from outside; by itself, from there on in a circle. */
	CHECK(sites[0] != sites[1]);
	CHECK_EQ(sites[2], sites[1]);
	CHECK_EQ(sites[3], sites[1]);
	check_site((uint32_t)sites[1], 0, &places[13], &places[1], (uint32_t)sites[0]);
}

/* The site of what a callback arms at this place. */
static uint32_t site_armed_at(const void *place, const void *code)
{
	struct plan plan = {.next = &places[24], .place = place};
	struct unweave_event event;
	size_t at = 0;

	collect_begin(0);
	call(unweave_callback_arm(kind_read, code, &places[0], 0), &plan, code, UNWEAVE_CALL_ENDS);
	unweave_callback_drop(plan.armed);
	unweave_stop();
	do
		event = event_at(&at);
	while (at < collected.count && event.task != plan.armed);
	CHECK_EQ(event.kind, UNWEAVE_EVENT_CREATE);
	return (uint32_t)event.value;
}

/* Its call was a jump, and returns to whoever called it. */
static void a_callback_that_arms_as_its_last_act_is_the_place(void)
{
	const char *anchor = unweave_anchors();
	uint32_t site, under;

	unweave_priv_only_calls(&places[32], &places[34]);
	unweave_priv_only_calls(&places[40], &places[42]);
	unweave_priv_only_calls(&places[40], &places[42]);
	site = site_armed_at(anchor + 8, &places[25]);
	under = site_in_arena(site).under;
	check_site(site, 0, &places[24], &places[26], under);
	check_site(under, 0, &places[25], &places[0], 0);
	CHECK_EQ(site_in_arena(site_armed_at(&places[33], &places[27])).place,
		 (uintptr_t)&places[28]);
	CHECK_EQ(site_in_arena(site_armed_at(&places[40], &places[27])).place,
		 (uintptr_t)&places[28]);
	CHECK_EQ(site_in_arena(site_armed_at(&places[42], &places[27])).place,
		 (uintptr_t)&places[42]);
}

static void a_place_in_what_only_calls_is_none_where_nothing_runs(void)
{
	uint64_t task;
	size_t at = 0;

	collect_begin(0);
	task = unweave_callback_arm(kind_read, &places[29], (const char *)unweave_anchors() + 8, 0);
	unweave_callback_drop(task);
	unweave_stop();
	expect(&at, UNWEAVE_EVENT_RESET, 0);
	check_site((uint32_t)expect(&at, UNWEAVE_EVENT_CREATE, task).value, 0, &places[29], NULL,
		   0);
}

static void an_end_without_a_stamp_has_the_time_of_what_follows(void)
{
	static const unsigned statuses[] = {UNWEAVE_OK, UNWEAVE_ERROR, UNWEAVE_CANCELLED, 77};
	static const uint64_t expected[] = {UNWEAVE_OK, UNWEAVE_ERROR, UNWEAVE_CANCELLED,
					    UNWEAVE_ERROR};
	uint64_t tasks[4];
	size_t at = 5;

	collect_begin(0);
	for (int i = 0; i < 4; i++)
		tasks[i] = unweave_callback_arm(kind_read, &places[17], &places[0], 0);
	for (int i = 0; i < 4; i++)
		unweave_callback_call(
			&(struct unweave_call){.task = tasks[i],
					       .go = follow_plan,
					       .context = &(struct plan){0},
					       .code = &places[17],
					       .status = (enum unweave_status)statuses[i],
					       .straight_on = 1});
	unweave_loop_left();
	unweave_stop();

	for (int i = 0; i < 4; i++) {
		struct unweave_event complete;

		expect(&at, UNWEAVE_EVENT_RESUME, tasks[i]);
		complete = expect(&at, UNWEAVE_EVENT_COMPLETE, tasks[i]);
		CHECK_EQ(complete.value, expected[i]);
		/* The last one is no status, and goes the way that knows what to do. */
		if (i < 3 && at < collected.count)
			CHECK_EQ(complete.time, collected.seen[at].event.time);
	}
	expect(&at, UNWEAVE_EVENT_WOKE, 0);
	CHECK_EQ(at, collected.count);
}

static void a_loop_waits_and_wakes(void)
{
	struct unweave_event created;
	uint64_t loop;
	size_t at = 1;

	collect_begin(0);
	loop = unweave_loop_open("loop", &places[20], &places[21]);
	unweave_loop_wait(loop);
	unweave_loop_woke(loop);
	unweave_callback_call(&(struct unweave_call){.task = loop,
						     .go = follow_plan,
						     .context = &(struct plan){0},
						     .late = 5000,
						     .end = UNWEAVE_CALL_STAYS});
	unweave_callback_drop(loop);
	unweave_stop();

	created = expect(&at, UNWEAVE_EVENT_CREATE, loop);
	check_site((uint32_t)created.value, UNWEAVE_SITE_STANDING | UNWEAVE_SITE_LOOP, &places[20],
		   &places[21], 0);
	expect(&at, UNWEAVE_EVENT_IDLE, loop);
	expect(&at, UNWEAVE_EVENT_WOKE, loop);
	CHECK_EQ(expect(&at, UNWEAVE_EVENT_DUE, 0).value, 5000);
	expect(&at, UNWEAVE_EVENT_RESUME, loop);
}

static void begin_samples(void)
{
	struct unweave_options options;

	unweave_options_init(&options);
	options.listener = collect;
	options.listener_data = &collected;
	options.detail = UNWEAVE_DETAIL_SAMPLES;
	CHECK_EQ(unweave_start(&options), 0);
}

static void at_samples_a_callback_takes_no_slot(void)
{
	struct plan plan = {.next = &places[11]};
	uint32_t live;
	uint64_t task, standing;

	begin_samples();
	standing = unweave_callback_arm(kind_read, &places[12], &places[0], UNWEAVE_STANDING);
	live = count_live();
	task = unweave_callback_arm(kind_read, &places[14], &places[0], 0);
	CHECK(unweave_priv_is_light(task));
	check_site(table_light_site(task), 0, &places[14], &places[0], 0);
	call(task, &plan, &places[14], UNWEAVE_CALL_ENDS);
	CHECK_EQ(plan.current, task);
	check_site(table_light_site(plan.armed), 0, &places[11], &places[1],
		   table_light_site(task));
	call(standing, &plan, &places[12], UNWEAVE_CALL_FIRES);
	check_site(table_light_site(plan.current), UNWEAVE_SITE_FIRED, &places[12], &places[0], 0);
	CHECK_EQ(count_live(), live);
	unweave_callback_drop(plan.armed);
	unweave_callback_drop(standing);
	CHECK_EQ(count_live(), live - 1);
	unweave_stop();
	CHECK_EQ(emit_innermost(emit_self()->hot.nest), 0);
}

static uint64_t inner_task;

/* Calls what is armed in it, so that one run is inside of another. */
static int call_inside(struct unweave_link *none, void *context)
{
	struct plan *inner = context;

	(void)none;
	inner_task = unweave_callback_arm(kind_write, &places[18], &places[2], 0);
	call(inner_task, inner, &places[18], UNWEAVE_CALL_ENDS);
	CHECK_EQ(inner->current, inner_task);
	unweave_here(&inner->current, NULL, NULL, 0);
	return 5;
}

static void at_samples_one_call_may_be_inside_of_another(void)
{
	struct plan inner = {.next = &places[19]};
	uint64_t outer, armed = 0;

	begin_samples();
	emit_refresh();
	/* What is found the second time is what was made the first time. */
	for (int i = 0; i < 2; i++) {
		outer = unweave_callback_arm(kind_read, &places[17], &places[0], 0);
		CHECK_EQ(unweave_callback_call(&(struct unweave_call){.task = outer,
								      .go = call_inside,
								      .context = &inner,
								      .code = &places[17]}),
			 5);
		CHECK_EQ(inner.current, outer);
		CHECK_EQ(site_in_arena(table_light_site(inner.armed)).under,
			 table_light_site(inner_task));
		CHECK(!armed || armed == inner.armed);
		armed = inner.armed;
	}
	unweave_stop();
	CHECK_EQ(emit_innermost(emit_self()->hot.nest), 0);
	CHECK_EQ(emit_self()->hot.nest->dispatch, 0);
}

static int take_three(void *object, void *context, void *more)
{
	return object == &places[1] && context == &places[2] && more == &places[3];
}

static void a_callback_may_take_three_arguments(void)
{
	struct unweave_call call_of_three = {.go = (unweave_go)(void (*)(void))take_three,
					     .object = (void *)&places[1],
					     .context = (void *)&places[2],
					     .more = (void *)&places[3],
					     .code = &places[22]};

	for (int i = 0; i < 3; i++) {
		if (i == 1)
			collect_begin(0);
		if (i == 2)
			begin_samples();
		call_of_three.task = unweave_callback_arm(kind_read, &places[22], &places[0], 0);
		CHECK_EQ(unweave_callback_call(&call_of_three), 1);
		unweave_stop();
	}
}

static int fork_inside(struct unweave_link *none, void *context)
{
	(void)none;
	*(pid_t *)context = fork();
	return 0;
}

/* The run goes on in both processes, and the child has neither its arena nor its nest. */
static void at_samples_a_callback_may_fork(void)
{
	struct plan plan = {0};
	int status = -1;
	uint64_t task;
	pid_t pid;

	begin_samples();
	emit_refresh();
	task = unweave_callback_arm(kind_read, &places[23], &places[0], 0);
	fflush(stdout);
	unweave_callback_call(&(struct unweave_call){
		.task = task, .go = fork_inside, .context = &pid, .code = &places[23]});
	call(task, &plan, &places[23], UNWEAVE_CALL_ENDS);
	CHECK_EQ(plan.current, pid ? task : 0);
	if (pid == 0)
		_exit(check_failed != 0);
	CHECK(pid > 0 && waitpid(pid, &status, 0) == pid);
	CHECK_EQ(status, 0);
	unweave_stop();
	CHECK_EQ(emit_self()->hot.nest->dispatch, 0);
}

static void a_light_one_is_a_task_once_events_are_recorded(void)
{
	struct plan plan = {0};
	struct unweave_event created;
	uint64_t task;
	size_t at = 1;

	begin_samples();
	task = unweave_callback_arm(kind_read, &places[15], &places[0], 0);
	unweave_stop();
	collect_begin(0);
	call(task, &plan, &places[15], UNWEAVE_CALL_ENDS);
	call(task, &plan, &places[15], UNWEAVE_CALL_STAYS);
	unweave_callback_wake(task, UNWEAVE_SOURCE_TASK);
	unweave_callback_drop(task);
	unweave_stop();

	for (int i = 0; i < 2; i++) {
		created = event_at(&at);
		CHECK_EQ(created.kind, UNWEAVE_EVENT_CREATE);
		CHECK(!unweave_priv_is_light(created.task));
		CHECK_EQ(created.value, table_light_site(task));
		expect(&at, UNWEAVE_EVENT_RESUME, created.task);
		expect(&at, UNWEAVE_EVENT_COMPLETE, created.task);
	}
	CHECK_EQ(at, collected.count);
}

/* Ends, and begins anew, the session that it runs in. */
static int change_session(struct unweave_link *none, void *context)
{
	(void)none;
	unweave_stop();
	if (context)
		begin_samples();
	return 0;
}

static void a_session_may_end_and_begin_inside_of_a_call(void)
{
	static int yes;
	uint32_t live;
	uint64_t task;

	live = count_live();
	for (int i = 0; i < 8; i++) {
		if (i & 1)
			begin_samples();
		else
			collect_begin(0);
		task = unweave_callback_arm(kind_read, &places[16], &places[0],
					    i & 2 ? UNWEAVE_STANDING : 0);
		unweave_callback_call(&(struct unweave_call){.task = task,
							     .go = change_session,
							     .context = i & 4 ? &yes : NULL,
							     .code = &places[16],
							     .end = i & 2 ? UNWEAVE_CALL_FIRES
									  : UNWEAVE_CALL_ENDS});
		if (i & 2)
			unweave_callback_drop(task);
		unweave_stop();
	}
	CHECK_EQ(count_live(), live);
	begin_samples();
	call(unweave_callback_arm(kind_read, &places[16], &places[0], 0), &(struct plan){0},
	     &places[16], UNWEAVE_CALL_ENDS);
	unweave_stop();
	CHECK_EQ(emit_innermost(emit_self()->hot.nest), 0);
	CHECK_EQ(emit_self()->hot.nest->dispatch, 0);
}

#define RACERS 4
#define RACED 300

static pthread_barrier_t start;
static uint32_t raced[RACERS][RACED];

static void *race(void *own)
{
	uint32_t *sites = own;

	pthread_barrier_wait(&start);
	for (uintptr_t i = 0; i < RACED; i++) {
		const struct unweave_priv_way way = {kind_write, (void *)(i * 16 + 0x1000),
						     &places[30], 0};

		sites[i] = cause_find(&way)->is->site.id;
	}
	return NULL;
}

static void threads_that_meet_find_the_same_cause(void)
{
	pthread_t threads[RACERS];

	pthread_barrier_init(&start, NULL, RACERS);
	for (int i = 0; i < RACERS; i++)
		pthread_create(&threads[i], NULL, race, raced[i]);
	for (int i = 0; i < RACERS; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < RACED; i++) {
		for (int j = 1; j < RACERS; j++)
			CHECK_EQ(raced[j][i], raced[0][i]);
		check_site(raced[0][i], 0, (void *)(uintptr_t)(i * 16 + 0x1000), &places[30], 0);
	}
}

/* In a child, since it leaves no room for anybody. */
static void fill_the_table_of_causes(void)
{
	uint32_t site = 0, least = UINT32_MAX;

	CHECK(emit_birth());
	for (uintptr_t i = 0; i < 2 * CAUSES_MAX; i++) {
		const struct unweave_priv_way way = {kind_write, (void *)(i * 16 + 0x100000),
						     &places[31], 0};
		const struct cause *cause = cause_find(&way);

		CHECK(cause);
		site = cause->is->site.id;
		if (i == 2 * CAUSES_MAX - 2)
			least = site;
	}
	/* All that came last have one site, which says nothing but what they are. */
	CHECK_EQ(site, least);
	check_site(site, 0, NULL, NULL, 0);
	CHECK(atomic_load(&emit_process.control->names_lost) > CAUSES_MAX / 2);
}

static void where_there_is_no_room_for_a_cause_its_kind_is_left(void)
{
	in_child(fill_the_table_of_causes, NULL);
}

/* A chain that is deeper than any program's: each callback arms another one. */
static void a_chain_that_is_too_deep_says_so(void)
{
	uint32_t under = 0, deepest = 0;
	const struct cause *cause = NULL;

	for (uintptr_t i = 0; i < 200; i++) {
		const struct unweave_priv_way way = {kind_write, (void *)(i * 16 + 0x8000000),
						     &places[32], cause_how(under, 0)};

		cause = cause_find(&way)->is;
		under = cause->site.id;
		if (site_in_arena(under).flags & UNWEAVE_SITE_CUT)
			deepest = deepest ? deepest : (uint32_t)i;
	}
	CHECK_EQ(deepest, 64);
	CHECK_EQ(site_in_arena(under).under, 0);
}

static uint64_t standing, once;

static void call_what_the_parent_armed(void)
{
	struct plan plan = {0};
	struct unweave_event created;
	size_t at = 1;

	collect_begin(0);
	call(standing, &plan, &places[12], UNWEAVE_CALL_FIRES);
	call(once, &plan, &places[14], UNWEAVE_CALL_ENDS);
	unweave_stop();
	created = event_at(&at);
	CHECK_EQ(created.kind, UNWEAVE_EVENT_CREATE);
	CHECK_EQ(created.other, standing);
	CHECK_EQ(site_in_arena((uint32_t)created.value).code, (uintptr_t)&places[12]);
}

static void a_child_of_fork_calls_what_its_parent_armed(void)
{
	standing = unweave_callback_arm(kind_read, &places[12], &places[0], UNWEAVE_STANDING);
	once = unweave_callback_arm(kind_read, &places[14], &places[0], 0);
	in_child(call_what_the_parent_armed, NULL);
	unweave_callback_drop(standing);
	unweave_callback_drop(once);
}

int main(void)
{
	RUN(a_callback_is_a_task_from_its_arming_to_its_call);
	RUN(a_call_that_asks_ends_its_task_when_it_says_so);
	RUN(each_call_of_a_standing_one_is_its_child);
	RUN(one_that_turns_out_to_stand_has_calls_of_its_kind);
	RUN(one_that_arms_itself_again_has_the_chain_of_the_first_time);
	RUN(a_callback_that_arms_as_its_last_act_is_the_place);
	RUN(a_place_in_what_only_calls_is_none_where_nothing_runs);
	RUN(an_end_without_a_stamp_has_the_time_of_what_follows);
	RUN(a_loop_waits_and_wakes);
	RUN(at_samples_a_callback_takes_no_slot);
	RUN(at_samples_one_call_may_be_inside_of_another);
	RUN(a_callback_may_take_three_arguments);
	RUN(at_samples_a_callback_may_fork);
	RUN(a_light_one_is_a_task_once_events_are_recorded);
	RUN(a_session_may_end_and_begin_inside_of_a_call);
	RUN(threads_that_meet_find_the_same_cause);
	RUN(where_there_is_no_room_for_a_cause_its_kind_is_left);
	RUN(a_chain_that_is_too_deep_says_so);
	RUN(a_child_of_fork_calls_what_its_parent_armed);
	collect_forget();
	return check_done();
}
