/* SPDX-License-Identifier: Apache-2.0 */
#include "taker.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"
#include "drain/find.h"
#include "drain/recorder.h"
#include "sample/sampler.h"
#include "trace/compress.h"

static int open_recorder(struct recorder **ret, struct taker *taker, struct attachment *attachment,
			 struct compressor *compressor, struct diag *diag)
{
	struct recorder_options options = {
		.path = taker->path,
		.compress = compressor_run,
		.compress_data = compressor,
		.detail = UNWEAVE_DETAIL_FULL,
	};
	int r = find_pid(attachment, (uint32_t)getppid(), diag);

	if (r >= 0)
		r = attach_lock(attachment, diag);
	return r < 0 ? r : recorder_new(ret, attachment, &options, diag);
}

static struct sampler *end_samples(struct taker *taker, struct sampler *sampler)
{
	struct sampler_totals totals;

	if (!sampler)
		return NULL;
	sampler_halt(sampler);
	totals = sampler_totals(sampler);
	atomic_fetch_add(&taker->samples, totals.samples);
	atomic_fetch_add(&taker->samples_lost, totals.lost);
	return sampler_free(sampler);
}

/* As is wanted. Threads have their clocks after the first pass. */
static struct sampler *change_samples(struct taker *taker, struct sampler *sampler,
				      struct attachment *attachment, struct recorder *recorder)
{
	uint32_t hz = atomic_load(&taker->hz);
	struct sampler_options options = {.hz = hz, .no_symbols = true};

	if (hz == atomic_load(&taker->hz_now))
		return sampler;
	sampler = end_samples(taker, sampler);
	if (hz && sampler_new(&sampler, attachment, recorder, &options) == 0)
		sampler_pass(sampler);
	atomic_store(&taker->hz_now, hz);
	return sampler;
}

static void take(struct taker *taker, struct attachment *attachment, struct recorder *recorder)
{
	struct sampler *sampler = NULL;

	while (atomic_load(&taker->state) == TAKER_READY) {
		uint64_t pause, other;

		sampler = change_samples(taker, sampler, attachment, recorder);
		recorder_pass(recorder);
		if (sampler)
			sampler_pass(sampler);
		pause = recorder_pause_ns(recorder);
		other = sampler ? sampler_pause_ns(sampler) : pause;
		atomic_store(&taker->cpu_ns, bench_cpu_ns());
		bench_sleep_us((other < pause ? other : pause) / 1000);
	}
	end_samples(taker, sampler);
}

static void account(struct taker *taker, const struct recorder_totals *totals)
{
	taker->lost = totals->drain.lost + totals->drain.orphans + totals->drain.reentries +
		      totals->drain.damaged + totals->unwritten;
	taker->records = totals->drain.records;
	taker->bytes = totals->bytes;
}

static int record(struct taker *taker, struct diag *diag)
{
	struct attachment attachment = {.fd = -1};
	struct compressor *compressor = NULL;
	struct recorder *recorder = NULL;
	struct recorder_totals totals;
	int r;

	r = compressor_new(&compressor, TAKER_ZSTD_LEVEL);
	if (r < 0)
		return r;
	r = open_recorder(&recorder, taker, &attachment, compressor, diag);
	if (r >= 0) {
		atomic_store(&taker->state, TAKER_READY);
		take(taker, &attachment, recorder);
		r = recorder_stop(recorder);
		totals = recorder_totals(recorder);
		account(taker, &totals);
		recorder_free(recorder);
	}
	attach_fini(&attachment);
	compressor_free(compressor);
	return r;
}

static _Noreturn void be_taker(struct taker *taker, pid_t parent)
{
	struct diag diag = {.text = "out of memory"};

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	bench_pin(BENCH_CPU_DRAIN);
	while (atomic_load(&taker->state) == TAKER_WAITING && getppid() == parent)
		bench_sleep_us(1000);
	if (record(taker, &diag) < 0) {
		snprintf(taker->why, sizeof(taker->why), "%s", diag.text);
		atomic_store(&taker->state, TAKER_FAILED);
		_exit(1);
	}
	_exit(0);
}

struct taker *taker_new(const char *directory, const char *name)
{
	struct taker *taker = mmap(NULL, sizeof(*taker), PROT_READ | PROT_WRITE,
				   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t parent = getpid(), pid;

	if (taker == MAP_FAILED)
		return NULL;
	snprintf(taker->path, sizeof(taker->path), "%s/%s.unw", directory, name);
	pid = fork();
	if (pid == 0)
		be_taker(taker, parent);
	if (pid < 0) {
		munmap(taker, sizeof(*taker));
		return NULL;
	}
	atomic_store(&taker->pid, pid);
	return taker;
}

int taker_begin(struct taker *taker)
{
	atomic_store(&taker->state, TAKER_CALLED);
	while (atomic_load(&taker->state) == TAKER_CALLED)
		bench_sleep_us(1000);
	return atomic_load(&taker->state) == TAKER_READY ? 0 : -EIO;
}

void taker_sample(struct taker *taker, uint32_t hz)
{
	atomic_store(&taker->hz, hz);
	while (atomic_load(&taker->state) == TAKER_READY && atomic_load(&taker->hz_now) != hz)
		bench_sleep_us(1000);
}

int taker_end(struct taker *taker)
{
	int status = 0;

	atomic_store(&taker->state, TAKER_DISMISSED);
	waitpid(atomic_load(&taker->pid), &status, 0);
	atomic_store(&taker->pid, 0);
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -EIO;
}

struct taker *taker_free(struct taker *taker)
{
	pid_t pid = taker ? atomic_load(&taker->pid) : 0;

	if (pid) {
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
	if (taker)
		munmap(taker, sizeof(*taker));
	return NULL;
}
