/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the pages that the browser test opens: pages DIRECTORY. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "flames.h"
#include "view/flame.h"

#define STACKS 100000u /* at least so many are different in big.html */

#define SERVE "A serve_connection;A handle_request"
#define USER SERVE ";R load_user"
#define LOOP "- [no task];N main;N run_loop"

/* What a server does: of each path CPU, pending and queued milliseconds, and those of another day.
 */
static const struct {
	const char *path;
	uint64_t cpu, pending, queued, other;
} server[] = {
	{USER ";N check_password;N EVP_Digest;N sha256_block", 2400, 0, 0, 1100},
	{USER ";N check_password;N EVP_Digest;N memcpy", 180, 0, 0, 170},
	{USER ";N check_password", 60, 0, 0, 60},
	{USER ";N parse_row;I to_integer", 210, 0, 0, 640},
	{USER ";N parse_row", 130, 0, 0, 130},
	{SERVE ";R render_page;N json_encode;N json_encode_value;N json_encode_value;N json_escape",
	 700, 0, 0, 690},
	{SERVE ";R render_page;N json_encode;N json_encode_value;N json_encode_value", 240, 0, 0,
	 0},
	{SERVE ";R render_page;N json_encode;N json_encode_value", 110, 0, 0, 300},
	{SERVE ";R render_page;I append;N memcpy", 190, 0, 0, 190},
	{SERVE ";A query_database;R send_query", 160, 0, 0, 150},
	{SERVE ";A query_database;A wait_for_reply;- [waiting]", 0, 5200, 0, 0},
	{SERVE ";A query_database;A wait_for_reply;- [queued]", 0, 0, 800, 0},
	{SERVE ";A read_body;- [waiting]", 0, 1300, 0, 0},
	{SERVE ";A read_body;- [queued]", 0, 0, 200, 0},
	{"A accept_loop;R accept_one;N setup_connection", 240, 0, 0, 240},
	{"A accept_loop;- [waiting]", 0, 2500, 0, 0},
	{LOOP ";N epoll_wait", 420, 0, 0, 430},
	{LOOP ";N run_timers", 60, 0, 0, 60},
};

static void fill_server(struct flame *flame, bool compare)
{
	for (size_t i = 0; i < sizeof(server) / sizeof(server[0]); i++) {
		const char *path = server[i].path;
		uint64_t cpu = server[i].cpu;

		flames_add(flame, FLAME_THIS, path, PROFILE_CPU, cpu);
		flames_add(flame, FLAME_THIS, path, PROFILE_WAIT, server[i].pending);
		flames_add(flame, FLAME_THIS, path, PROFILE_QUEUED, server[i].queued);
		if (compare && server[i].other)
			flames_add(flame, FLAME_OTHER, path, PROFILE_CPU, server[i].other);
		if (path[0] == '-')
			continue;
		flames_add(flame, FLAME_THIS, path, PROFILE_WALL,
			   cpu + server[i].pending + server[i].queued);
		for (uint64_t task = 0; task < 4 && cpu; task++) {
			char label[32];

			snprintf(label, sizeof(label), "GET /user/%" PRIu64, task + 1);
			flames_task(flame, path, PROFILE_CPU, 33554456 + 32 * task, label,
				    cpu / (4 + task));
		}
	}
}

/* Random stacks, 10 to 23 frames deep, of 2,000 functions and 20,000 tasks. */
static void fill_big(struct flame *flame, uint32_t stacks)
{
	uint64_t random = 88172645463325252u;
	uint32_t names[2000];
	char text[128];

	for (uint32_t i = 0; i < 2000; i++) {
		snprintf(text, sizeof(text), "module_%u::Worker<%u>::step_%u(std::string const&)",
			 i % 12, i % 7, i);
		names[i] = flame_add_name(
			flame, &(struct profile_name){.function = text,
						      .module = i % 12 ? "libbig.so" : "server",
						      .file = "big.cc",
						      .line = i,
						      .kind = i % 5 == 0 ? PROFILE_AWAIT
									 : PROFILE_NATIVE});
	}
	for (uint32_t i = 0; i < stacks; i++) {
		uint32_t node = 0, depth;

		random ^= random << 13, random ^= random >> 7, random ^= random << 17;
		depth = 10 + random % 14;
		for (uint32_t level = 0; level < depth; level++) {
			/* Few ways to go near the root, many further out, some far more used. */
			uint32_t ways = level < 8 ? 3 : 6, way;

			random ^= random << 13, random ^= random >> 7, random ^= random << 17;
			way = (uint32_t)(random % ways * (random >> 32 & 1));
			node = flame_add_child(flame, node, names[(level * 37 + way * 101) % 2000]);
		}
		flame_add_self(flame, node, FLAME_THIS, PROFILE_CPU, 10101010, 1);
		flame_add_self(flame, node, FLAME_THIS, PROFILE_WAIT, 1000 + random % 100000, 1);
		flame_add_self(flame, node, FLAME_THIS, PROFILE_WALL, 10101010, 1);
		snprintf(text, sizeof(text), "request %u", i % 20000);
		flame_add_task(flame, node, PROFILE_CPU,
			       &(struct profile_task){
				       .id = i % 20000 + 1, .label = text, .value = 10101010});
	}
}

static void fill_hostile(struct flame *flame)
{
	static const char *const names[] = {
		"</script><script>document.title='owned'</script>",
		"<img src=x onerror=\"document.title='owned'\">",
		"'\"&amp;<b>\\u003c",
		"\xff\xfe\x80 bytes \x01\x1b[31m",
		"@META@ @NODES@ ${document.title='owned'}",
		"__proto__",
		"constructor",
		"\xe2\x80\xa8line\xe2\x80\xa9",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		uint32_t node = flame_add_child(
			flame, 0,
			flame_add_name(flame, &(struct profile_name){.function = names[i],
								     .module = names[i],
								     .file = names[i],
								     .line = 1,
								     .kind = PROFILE_NATIVE}));

		flame_add_self(flame, node, FLAME_THIS, PROFILE_CPU, 1000000 * (i + 1), i + 1);
		flame_add_task(flame, node, PROFILE_CPU,
			       &(struct profile_task){
				       .id = UINT64_MAX - i, .label = names[i], .value = 1000000});
	}
}

static int write_page(const char *directory, const char *name, struct flame *flame,
		      const struct flame_caption *caption)
{
	char path[4096];
	FILE *to;
	int r;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	to = fopen(path, "w");
	if (!to)
		return -1;
	r = strstr(name, ".svg") ? flame_svg(flame, caption, to) : flame_html(flame, caption, to);
	return fclose(to) == 0 ? r : -1;
}

static uint32_t count_stacks(const struct flame *flame)
{
	uint32_t stacks = 0;

	for (uint32_t node = 1; node < flame_count(flame); node++)
		stacks += flame_values(flame, node, FLAME_THIS)->self[PROFILE_CPU] > 0;
	return stacks;
}

enum what { SERVER, COMPARED, HOSTILE, EMPTY, BIG };

static int make(const char *directory, const char *name, enum what what)
{
	const struct model_totals now = {
		.last = UINT64_C(12345678901),
		.tasks = 18342,
		.samples = 5100,
		.lost = what == SERVER ? 12 : 0,
		.outcomes = {[SPLICE_NO_TASK] = 480, [SPLICE_EXACT] = 4602, [SPLICE_CUT] = 18}};
	const struct model_totals before = {
		.last = UINT64_C(9345678901), .tasks = 15000, .samples = 4160};
	struct flame_caption caption = {
		.title = what == HOSTILE ? "</title><script>document.title='owned'</script>\xff"
					 : "server.unw: ./server --port 8080",
		.traces = {"server.unw", "yesterday.unw"},
		.totals = {&now, &before},
		.metric = FLAME_CPU,
	};
	struct flame *flame = NULL;
	int r = flame_new(&flame);

	if (r < 0)
		return r;
	if (what == SERVER || what == COMPARED)
		fill_server(flame, what == COMPARED);
	else if (what == HOSTILE)
		fill_hostile(flame);
	else if (what == BIG)
		fill_big(flame, 160000);
	r = flame_finish(flame, FLAME_CPU, 0);
	if (r == 0)
		r = write_page(directory, name, flame, &caption);
	if (what == BIG && (flame_folded(flame) || count_stacks(flame) < STACKS))
		r = -1;
	flame_free(flame);
	return r;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		enum what what;
	} pages[] = {
		{"server.html", SERVER},    {"server.svg", SERVER},    {"compared.html", COMPARED},
		{"compared.svg", COMPARED}, {"hostile.html", HOSTILE}, {"hostile.svg", HOSTILE},
		{"empty.html", EMPTY},      {"empty.svg", EMPTY},      {"big.html", BIG},
		{"big.svg", BIG},
	};

	if (argc != 2)
		return 2;
	for (size_t i = 0; i < sizeof(pages) / sizeof(pages[0]); i++) {
		if (make(argv[1], pages[i].name, pages[i].what) < 0) {
			fprintf(stderr, "%s: could not be written\n", pages[i].name);
			return 1;
		}
	}
	return 0;
}
