/* SPDX-License-Identifier: Apache-2.0 */
/* What is done once to a flame graph that has all its frames. */
#include <errno.h>
#include <stdlib.h>

#include "util/cleanup.h"
#include "view/flame_graph.h"

static void free_pointer(void *pointer)
{
	free(*(void **)pointer);
}

static struct flame_node *node_at(struct flame *flame, uint32_t node)
{
	return (struct flame_node *)flame->nodes.at + node;
}

static struct flame_values *values_at(struct flame *flame, uint32_t node, uint32_t side)
{
	return (struct flame_values *)flame->values[side].at + node;
}

uint64_t flame_self(const struct flame_values *values, enum flame_metric metric)
{
	switch (metric) {
	case FLAME_CPU:
		return values->self[PROFILE_CPU];
	case FLAME_WAIT:
		return values->self[PROFILE_WAIT] + values->self[PROFILE_QUEUED];
	default:
		return values->self[PROFILE_WALL];
	}
}

uint64_t flame_total(const struct flame_values *values, enum flame_metric metric)
{
	switch (metric) {
	case FLAME_CPU:
		return values->total[PROFILE_CPU];
	case FLAME_WAIT:
		return values->total[PROFILE_WAIT] + values->total[PROFILE_QUEUED];
	default:
		return values->total[PROFILE_WALL];
	}
}

const char *flame_metric_word(enum flame_metric metric)
{
	static const char *const words[FLAME_METRICS] = {"cpu", "wait", "wall"};

	return words[metric];
}

double flame_coverage(const struct model_totals *totals)
{
	uint64_t in_tasks = 0;

	for (uint32_t i = 0; i < SPLICE_OUTCOMES; i++)
		if (i != SPLICE_NO_TASK)
			in_tasks += totals->outcomes[i];
	return in_tasks ? (double)totals->outcomes[SPLICE_EXACT] / (double)in_tasks : -1;
}

static int by_time(const void *a, const void *b)
{
	const struct flame_share *one = a, *two = b;

	if (one->ns != two->ns)
		return one->ns < two->ns ? 1 : -1;
	if (one->node != two->node)
		return one->node < two->node ? -1 : 1;
	return one->task < two->task ? -1 : one->task > two->task;
}

void flame_trim_shares(struct flame *flame, uint32_t most)
{
	struct flame_share *shares = flame->shares.at;

	if (flame->shares.count <= most)
		return;
	qsort(shares, flame->shares.count, sizeof(*shares), by_time);
	flame->shares.count = most;
}

/* Children come after their parents, so one pass from the end sums all up. */
static void sum_up(struct flame *flame, uint32_t side)
{
	uint32_t count = flame->values[side].count;

	for (uint32_t i = 0; i < count; i++)
		for (uint32_t v = 0; v < PROFILE_VALUES; v++)
			values_at(flame, i, side)->total[v] = values_at(flame, i, side)->self[v];
	for (uint32_t i = count; i-- > 1;) {
		const struct flame_values *from = values_at(flame, i, side);
		struct flame_values *to = values_at(flame, node_at(flame, i)->parent, side);

		for (uint32_t v = 0; v < PROFILE_VALUES; v++)
			to->total[v] += from->total[v];
	}
}

/* The largest share that a node has of anything. Never more than its parent's. */
static double weight(struct flame *flame, uint32_t node)
{
	double most = 0;

	for (uint32_t side = 0; side < FLAME_SIDES; side++) {
		for (uint32_t v = 0; v < PROFILE_VALUES && flame->values[side].count; v++) {
			uint64_t all = values_at(flame, 0, side)->total[v];
			uint64_t own = values_at(flame, node, side)->total[v];
			double share = all ? (double)own / (double)all : 0;

			most = share > most ? share : most;
		}
	}
	return most;
}

static int by_weight(const void *a, const void *b)
{
	double one = *(const double *)a, two = *(const double *)b;

	return (one < two) - (one > two);
}

static void give_to_parent(struct flame *flame, uint32_t node)
{
	for (uint32_t side = 0; side < FLAME_SIDES && flame->values[side].count; side++) {
		struct flame_values *to = values_at(flame, node_at(flame, node)->parent, side);
		const struct flame_values *from = values_at(flame, node, side);

		for (uint32_t v = 0; v < PROFILE_VALUES; v++) {
			to->self[v] += from->self[v];
			to->count[v] += from->count[v];
		}
	}
}

/* Moves what is kept together; `places` says where each node is then, or its nearest ancestor. */
static void compact(struct flame *flame, const bool *keep, uint32_t *places)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < flame->nodes.count; i++) {
		uint32_t parent = places[node_at(flame, i)->parent];

		if (!keep[i]) {
			places[i] = parent;
			continue;
		}
		places[i] = count;
		*node_at(flame, count) = *node_at(flame, i);
		node_at(flame, count)->parent = parent;
		for (uint32_t side = 0; side < FLAME_SIDES && flame->values[side].count; side++)
			*values_at(flame, count, side) = *values_at(flame, i, side);
		count++;
	}
	flame->folded = flame->nodes.count - count;
	flame->nodes.count = count;
	for (uint32_t side = 0; side < FLAME_SIDES && flame->values[side].count; side++)
		flame->values[side].count = count;
	for (uint32_t i = 0; i < flame->shares.count; i++) {
		struct flame_share *share = (struct flame_share *)flame->shares.at + i;

		share->node = places[share->node];
	}
}

static int fold(struct flame *flame, uint32_t most)
{
	uint32_t count = flame->nodes.count;
	cleanup(free_pointer) double *weights = calloc(count, sizeof(*weights));
	cleanup(free_pointer) bool *keep = calloc(count, sizeof(*keep));
	cleanup(free_pointer) uint32_t *places = calloc(count, sizeof(*places));
	uint32_t room = most;
	double limit;

	if (!weights || !keep || !places)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++)
		weights[i] = weight(flame, i);
	qsort(weights, count, sizeof(*weights), by_weight);
	limit = weights[most];
	for (uint32_t i = 0; i < most; i++)
		room -= weights[i] > limit;
	/* Those that are as heavy as the limit: as many as there is room for, parents first. */
	for (uint32_t i = 0; i < count; i++) {
		double own = weight(flame, i);

		keep[i] = own > limit;
		if (i == 0 || (own == limit && room && keep[node_at(flame, i)->parent])) {
			room -= !keep[i];
			keep[i] = true;
		}
	}
	for (uint32_t i = count; i-- > 1;)
		if (!keep[i])
			give_to_parent(flame, i);
	compact(flame, keep, places);
	for (uint32_t side = 0; side < FLAME_SIDES; side++)
		sum_up(flame, side);
	return 0;
}

/* For the sort of siblings. */
struct place {
	uint32_t parent, node;
	uint64_t total;
};

static int by_place(const void *a, const void *b)
{
	const struct place *one = a, *two = b;

	if (one->parent != two->parent)
		return one->parent < two->parent ? -1 : 1;
	if (one->total != two->total)
		return one->total < two->total ? 1 : -1;
	return one->node < two->node ? -1 : 1;
}

static int order(struct flame *flame, enum flame_metric metric)
{
	uint32_t count = flame->nodes.count;
	cleanup(free_pointer) struct place *places = calloc(count, sizeof(*places));

	if (!places)
		return -ENOMEM;
	for (uint32_t i = 1; i < count; i++)
		places[i - 1] = (struct place){
			.parent = node_at(flame, i)->parent,
			.node = i,
			.total = flame_total(values_at(flame, i, FLAME_THIS), metric),
		};
	qsort(places, count - 1, sizeof(*places), by_place);
	for (uint32_t i = 0; i + 1 < count; i++) {
		bool first = i == 0 || places[i - 1].parent != places[i].parent;

		if (first)
			node_at(flame, places[i].parent)->first_child = places[i].node;
		else
			node_at(flame, places[i - 1].node)->next_sibling = places[i].node;
	}
	return 0;
}

int flame_finish(struct flame *flame, enum flame_metric metric, uint32_t most)
{
	if (flame->bad)
		return -ENOMEM;
	most = most ? most : FLAME_NODES_MOST;
	for (uint32_t side = 0; side < FLAME_SIDES; side++)
		sum_up(flame, side);
	if (flame->nodes.count > most && fold(flame, most) < 0)
		return -ENOMEM;
	flame_trim_shares(flame, FLAME_TASKS_MOST);
	return order(flame, metric);
}
