/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the groups whose rows were asked for, each in a process of its own, and tells. */
#include <errno.h>
#include <getopt.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"
#include "rows.h"

#define DIRECTORY "/var/tmp/unweave-bench-XXXXXX"

static const struct {
	const char *title;
	bench_group run;
	const char *prefixes[8]; /* of its rows */
} groups[] = {
	{"hooks in a tight loop",
	 group_tight,
	 {"emit.", "hook.", "pair.", "task.", "anchor.", "dispatch.", "callback."}},
	{"run loop", group_loop, {"loop.", "overhead."}},
	{"samples", group_sample, {"sample."}},
	{"trace", group_trace, {"loss.", "drain.", "bytes.", "decode.", "report.", "flame."}},
	{"other tracers", group_versus, {"vs."}},
	{"adapters", group_adapters, {"uv.", "ev.", "glib."}},
	{"top", group_top, {"top."}},
	{"tree", group_tree, {"tree."}},
	{"Asio", group_asio, {"asio."}},
#ifdef BENCH_CORO
	{"coroutines", group_coro, {"coro."}},
#endif
};

struct options {
	bool quick;
	bool help;
	enum rows_form form;
	const char *json; /* NULL: beside the build if everything was measured, else none */
};

static const char usage[] = "usage: bench [--quick] [--markdown] [--json FILE] [NAME...]\n"
			    "Measures the rows whose names begin with one of NAME, or all.\n";

static bool parse(struct options *options, int argc, char **argv)
{
	static const struct option known[] = {
		{"quick", no_argument, NULL, 'q'},
		{"markdown", no_argument, NULL, 'm'},
		{"json", required_argument, NULL, 'j'},
		{"help", no_argument, NULL, 'h'},
		{0},
	};
	int option;

	while ((option = getopt_long(argc, argv, "", known, NULL)) != -1) {
		switch (option) {
		case 'q':
			options->quick = true;
			break;
		case 'm':
			options->form = ROWS_MARKDOWN;
			break;
		case 'j':
			options->json = optarg;
			break;
		case 'h':
			options->help = true;
			break;
		default:
			return false;
		}
	}
	return true;
}

static bool is_wanted(const char *const *prefixes)
{
	for (; *prefixes; prefixes++)
		if (rows_wanted(*prefixes))
			return true;
	return false;
}

/* Returns whether the group ran to its end. */
static bool run_group(struct bench *bench, bench_group run)
{
	pid_t pid = fork();
	int status = 0;

	if (pid == 0) {
		int r;

		if (!bench_pin(BENCH_CPU_WORKER))
			bench_complain("one processor only: drain and program share it");
		r = run(bench);
		if (r < 0)
			bench_complain("%s", strerror(-r));
		exit(r < 0);
	}
	return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) &&
	       WEXITSTATUS(status) == 0;
}

static bool run_groups(struct bench *bench)
{
	bool whole = true;

	for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++) {
		if (!is_wanted(groups[i].prefixes))
			continue;
		bench_progress("%s", groups[i].title);
		bench->rng.state += UINT64_C(0x1234567);
		if (!run_group(bench, groups[i].run)) {
			bench_complain("%s: did not come to its end", groups[i].title);
			whole = false;
		}
	}
	bench_progress("%s", "");
	return whole;
}

static void remove_tree(const char *directory)
{
	pid_t pid = fork();

	if (pid == 0) {
		execlp("rm", "rm", "-rf", "--one-file-system", "--", directory, (char *)NULL);
		_exit(127);
	}
	if (pid > 0)
		waitpid(pid, NULL, 0);
}

/* The directory of the executable: build/bench. */
static const char *find_beside(char *path, size_t size)
{
	ssize_t length = readlink("/proc/self/exe", path, size - 1);

	path[length > 0 ? length : 0] = '\0';
	return dirname(path);
}

static int tell(const struct options *options, const struct bench *bench, bool everything)
{
	char path[4200];
	int r = 0;

	rows_print(stdout, options->form, !bench->quick);
	if (options->json || everything) {
		snprintf(path, sizeof(path), "%s/../bench.json", bench->beside);
		r = rows_write_json(options->json ? options->json : path, !bench->quick);
		if (r < 0)
			bench_complain("%s: %s", options->json ? options->json : path,
				       strerror(-r));
	}
	return r;
}

int main(int argc, char **argv)
{
	char directory[] = DIRECTORY, executable[4096];
	struct options options = {0};
	struct bench bench = {.directory = directory, .rng = {UINT64_C(0x20261115)}};
	bool whole;
	int r;

	if (!parse(&options, argc, argv)) {
		fputs(usage, stderr);
		return 2;
	}
	if (options.help) {
		fputs(usage, stdout);
		return 0;
	}
	bench.quick = options.quick;
	bench.beside = find_beside(executable, sizeof(executable));
	if (rows_init() < 0 || !mkdtemp(directory)) {
		bench_complain("%s: %s", directory, strerror(errno));
		return 1;
	}
	rows_select(argv + optind, argc - optind);
	if (!rows_wanted("")) {
		bench_complain("there is no row of this name");
		remove_tree(directory);
		return 2;
	}
	whole = run_groups(&bench);
	remove_tree(directory);
	r = tell(&options, &bench, optind == argc && !options.quick);
	return whole && r >= 0 ? 0 : 1;
}
