/* SPDX-License-Identifier: Apache-2.0 */
/* The chains of callbacks: why they run, as their sites say. */
#include "model/model.h"

#include "check.h"
#include "maker.h"
#include "model/anchors.h"
#include "model/causes.h"
#include "trace/samples.h"
#include "unweave/callback.h"

static struct maker maker;
static struct reader *reader;
static struct tree *tree;
static struct causes causes;

static void begin(void)
{
	maker_init(&maker, maker_path(), false);
	maker_session(&maker, 1000000000);
	maker_thread(&maker, 1, "one");
}

static void put_site(uint32_t id, const char *kind, uint32_t flags, uint64_t code, uint64_t place,
		     uint32_t under)
{
	maker_callbacks(&maker, &(struct meta_site){.id = id,
						    .kind = maker_text(kind),
						    .flags = flags,
						    .code = code,
						    .place = place,
						    .under = under});
}

static void end(void)
{
	struct diag diag = {0};

	maker_flush(&maker);
	maker_end(&maker, 0);
	maker_fini(&maker);
	maker_must(reader_open(&reader, maker_path(), NULL, NULL, &diag));
	maker_must(tree_new(&tree));
	maker_must(causes_init(&causes, model_sites_of(reader), tree));
}

static void done(void)
{
	causes_fini(&causes);
	tree = tree_free(tree);
	reader = reader_free(reader);
	unlink(maker_path());
}

/* A stack in words: 0x1000 is a callback, 0x1000+ a place, ~0 an omission. */
static const char *words_of(const struct tree *in, uint32_t stack)
{
	static char text[65536];
	size_t at = 0;

	text[0] = 0;
	for (; stack && at < sizeof(text); stack = tree_at(in, stack)->parent) {
		const struct tree_node *node = tree_at(in, stack);
		const char *mark = node->kind == SPLICE_ARMED ? "+" : "";

		if (node->kind == SPLICE_OMITTED)
			at += (size_t)snprintf(text + at, sizeof(text) - at, " ~%" PRIu64,
					       node->address);
		else
			at += (size_t)snprintf(text + at, sizeof(text) - at, " %#" PRIx64 "%s",
					       node->address, mark);
	}
	return text;
}

static const char *chain_of(uint32_t site)
{
	int64_t stack = causes_of(&causes, site);

	CHECK(stack >= 0);
	CHECK_EQ(causes_of(&causes, site), stack);
	return words_of(tree, (uint32_t)stack);
}

/* The same by the frames behind the callback. */
static void check_behind(uint32_t site)
{
	const struct splice_frame *frames = NULL;
	uint32_t count = causes_behind(&causes, site, &frames);
	uint32_t at = tree_at(tree, (uint32_t)causes_of(&causes, site))->parent;

	for (uint32_t i = 0; i < count; i++, at = tree_at(tree, at)->parent) {
		CHECK_EQ(frames[i].address, tree_at(tree, at)->address);
		CHECK_EQ(frames[i].kind, tree_at(tree, at)->kind);
	}
	CHECK_EQ(at, 0);
	CHECK(!causes.no_memory);
}

static void a_chain_is_the_callback_its_place_and_what_is_under_it(void)
{
	begin();
	put_site(3, "write", 0, 0x3000, 0x2011, 2);
	put_site(2, "read", UNWEAVE_SITE_FIRED, 0x2000, 0x1011, 1);
	put_site(1, "accept", UNWEAVE_SITE_FIRED, 0x1000, 0x111, 0);
	maker_site(&maker, 4, "task", "serve", "server.c", 42);
	put_site(5, "timer", 0, 0x5000, 0x4011, 4);
	put_site(6, "timer", 0, 0x6000, 0, 2);
	end();
	CHECK_STR_EQ(chain_of(3), " 0x3000 0x2010+ 0x2000 0x1010+ 0x1000 0x110+");
	CHECK_STR_EQ(chain_of(1), " 0x1000 0x110+");
	CHECK_STR_EQ(chain_of(2), " 0x2000 0x1010+ 0x1000 0x110+");
	/* What runs under it is no callback: its chain is another matter. */
	CHECK_STR_EQ(chain_of(5), " 0x5000 0x4010+");
	CHECK_STR_EQ(chain_of(6), " 0x6000 0x2000 0x1010+ 0x1000 0x110+");
	CHECK_EQ(causes_of(&causes, 4), 0);
	CHECK_EQ(causes_of(&causes, 77), 0);
	CHECK_EQ(causes_of(&causes, 0), 0);
	check_behind(3);
	check_behind(1);
	done();
}

static void what_is_not_told_is_an_omission(void)
{
	begin();
	put_site(1, "", UNWEAVE_SITE_CUT, 0x1000, 0x111, 0);
	put_site(2, "", 0, 0x2000, 0x1011, 1);
	put_site(3, "", 0, 0x3000, 0x111, 99);
	/* Circles. */
	put_site(4, "", 0, 0x4000, 0x111, 4);
	put_site(5, "", 0, 0x5000, 0x111, 7);
	put_site(6, "", 0, 0x6000, 0x111, 5);
	put_site(7, "", 0, 0x7000, 0x111, 6);
	end();
	CHECK_STR_EQ(chain_of(2), " 0x2000 0x1010+ 0x1000 0x110+ ~0");
	CHECK_STR_EQ(chain_of(3), " 0x3000 0x110+ ~0");
	CHECK_STR_EQ(chain_of(4), " 0x4000 0x110+ ~0");
	CHECK_STR_EQ(chain_of(6), " 0x6000 0x110+ 0x5000 0x110+ 0x7000 0x110+ ~0");
	CHECK_STR_EQ(chain_of(5), " 0x5000 0x110+ 0x7000 0x110+ ~0");
	check_behind(6);
	done();
}

static void a_hostile_file_makes_no_endless_chain(void)
{
	const uint32_t sites = 20000;
	uint32_t deepest = 0;

	begin();
	for (uint32_t i = 1; i <= sites; i++)
		put_site(i, "", 0, 0x1000, 0x111, i - 1);
	end();
	CHECK(causes_of(&causes, sites) > 0);
	for (uint32_t i = 1; i <= sites; i++) {
		uint32_t depth = tree_at(tree, (uint32_t)causes_of(&causes, i))->depth;

		deepest = depth > deepest ? depth : deepest;
	}
	CHECK(deepest > 500 && deepest < 2000);
	done();
}

static bool is_surely_same(void *data, uint64_t one, uint64_t other)
{
	(void)data;
	return one >> 12 == other >> 12;
}

static void an_arming_function_that_is_the_callback_is_one_frame(void)
{
	begin();
	put_site(1, "", 0, 0x1000, 0x111, 0);
	put_site(2, "", 0, 0x2000, 0x1011, 1);
	put_site(3, "", 0, 0x3000, 0x9011, 2); /* a helper armed it */
	put_site(4, "", 0, 0x4000, 0x3011, 3);
	end();
	causes.surely = is_surely_same;
	CHECK_STR_EQ(chain_of(4), " 0x4000 0x3010+ 0x9010+ 0x2000 0x1010+ 0x110+");
	CHECK_STR_EQ(chain_of(2), " 0x2000 0x1010+ 0x110+");
	CHECK_STR_EQ(chain_of(1), " 0x1000 0x110+");
	done();
}

/* What a model tells. */

static const struct tree *told_tree;
static char told[16][256];
static uint32_t told_count;

static void tell(const char *what, uint64_t task, uint32_t stack)
{
	if (told_count < 16)
		snprintf(told[told_count++], sizeof(told[0]), "%s %" PRIu64 "%s", what, task,
			 words_of(told_tree, stack));
}

static int on_run(void *data, const struct model_run *run)
{
	(void)data;
	tell("run", run->task->id, run->stack);
	return 0;
}

static int on_wait(void *data, const struct model_wait *wait)
{
	(void)data;
	tell("wait", wait->task->id, wait->stack);
	return 0;
}

static int on_sample(void *data, const struct model_sample *sample)
{
	(void)data;
	CHECK_EQ(sample->outcome, SPLICE_NO_ANCHOR);
	tell("sample", sample->task ? sample->task->id : 0, sample->stack);
	return 0;
}

static int on_task(void *data, struct model_task *task)
{
	(void)data;
	CHECK_STR_EQ(task->label, "timer");
	tell("task", task->id, task->stack);
	return 0;
}

static void read_model(void)
{
	struct model_sink sink = {
		.run = on_run, .wait = on_wait, .sample = on_sample, .task = on_task};
	struct model *model = NULL;
	struct diag diag = {0};

	told_count = 0;
	maker_must(model_new(&model, reader));
	told_tree = model_tree(model);
	CHECK_EQ(model_read(model, &sink, &diag), 0);
	model_free(model);
}

static int write_block(void *data, const struct block *block, const uint8_t *payload)
{
	(void)data;
	return writer_put(maker.writer, block, payload, NULL);
}

/* A callback at work, which called 0x8000; there are no anchors in this trace. */
static void put_samples(void)
{
	static const uint64_t native[] = {0x8000, 0x2010}, code = 0x2000, bare = 0x2000;
	const struct samples_segment segments[] = {
		{.task = 16, .site = 2, .chain = {.addresses = &code, .count = 1}},
		{.task = 16, .site = 1, .chain = {.addresses = &bare, .count = 1}},
	};
	struct samples_writer *writer = NULL;

	maker_must(samples_writer_new(&writer, write_block, NULL));
	for (uint32_t i = 0; i < 3; i++) {
		struct samples_input input = {.ticks = 120 + i,
					      .weight = 10,
					      .tid = 4242,
					      .thread_name = "",
					      .native = {.addresses = native, .count = 2},
					      .segments = &segments[i == 2],
					      .segment_count = 1};

		maker_must(samples_writer_put(writer, &input));
	}
	maker_must(samples_writer_flush(writer));
	samples_writer_free(writer);
}

static void runs_waits_and_samples_have_the_chain(void)
{
	struct encoder *one;

	begin();
	put_site(1, "accept", 0, 0x1000, 0x111, 0);
	put_site(2, "timer", 0, 0x2000, 0x1011, 1);
	one = maker_stream(&maker, 1, false, 0);
	maker_put(one, (struct unweave_event){
			       .kind = UNWEAVE_EVENT_CREATE, .time = 100, .task = 16, .value = 2});
	maker_put(one,
		  (struct unweave_event){.kind = UNWEAVE_EVENT_RESUME, .time = 110, .task = 16});
	maker_put(one,
		  (struct unweave_event){.kind = UNWEAVE_EVENT_COMPLETE, .time = 130, .task = 16});
	put_samples();
	end();
	read_model();
	CHECK_EQ(told_count, 6);
	CHECK_STR_EQ(told[0], "wait 16 0x2000 0x1010+ 0x1000 0x110+");
	CHECK_STR_EQ(told[1], "sample 16 0x8000 0x2010 0x1010+ 0x1000 0x110+");
	CHECK_STR_EQ(told[2], told[1]);
	/* The same frames, but of another site. */
	CHECK_STR_EQ(told[3], "sample 16 0x8000 0x2010 0x110+");
	CHECK_STR_EQ(told[4], "run 16 0x2000 0x1010+ 0x1000 0x110+");
	CHECK_STR_EQ(told[5], "task 16 0x2000 0x1010+ 0x1000 0x110+");
	done();
}

static void samples_alone_have_the_chain(void)
{
	maker_init(&maker, maker_path(), false);
	maker_session_of(&maker, 1000000000, UNWEAVE_DETAIL_SAMPLES);
	put_site(1, "accept", 0, 0x1000, 0x111, 0);
	put_site(2, "timer", 0, 0x2000, 0x1011, 1);
	put_samples();
	end();
	read_model();
	CHECK_EQ(told_count, 4);
	CHECK_STR_EQ(told[0], "sample 16 0x8000 0x2010 0x1010+ 0x1000 0x110+");
	CHECK_STR_EQ(told[3], "task 16 0x2000 0x1010+ 0x1000 0x110+");
	done();
}

static void put_module(uint64_t start, const char *path)
{
	struct meta_module module = {.start = start, .end = start + 0x1000};

	module.path = maker_text(path);
	meta_module_encode(&maker.buffer, &module);
}

static void the_library_and_the_adapters_are_known_by_their_names(void)
{
	struct splice_options options;

	begin();
	buffer_put_varint(&maker.buffer, 0x20100);
	buffer_put_varint(&maker.buffer, 6);
	put_module(0x10000, "/usr/bin/libunweave-libuv.so.d/server");
	put_module(0x20000, "/usr/lib/libunweave.so.0.1");
	put_module(0x30000, "/usr/lib/unweave/libunweave-libuv.so");
	put_module(0x40000, "libunweave-glib.so");
	put_module(0x30000, "/usr/lib/unweave/libunweave-libuv.so");
	put_module(0x50000, "/usr/lib/libuv.so.1");
	maker_block(&maker, BLOCK_MODULES, 0);
	end();
	options = anchors_options(reader);
	CHECK_EQ(options.anchors.start, 0x20100);
	CHECK_EQ(options.plumbing.start, 0x20000);
	CHECK_EQ(options.plumbing.end, 0x21000);
	CHECK_EQ(options.adapter_count, 2);
	CHECK_EQ(options.adapters[0].start, 0x30000);
	CHECK_EQ(options.adapters[0].end, 0x31000);
	CHECK_EQ(options.adapters[1].start, 0x40000);
	done();
}

int main(void)
{
	RUN(a_chain_is_the_callback_its_place_and_what_is_under_it);
	RUN(what_is_not_told_is_an_omission);
	RUN(a_hostile_file_makes_no_endless_chain);
	RUN(an_arming_function_that_is_the_callback_is_one_frame);
	RUN(runs_waits_and_samples_have_the_chain);
	RUN(samples_alone_have_the_chain);
	RUN(the_library_and_the_adapters_are_known_by_their_names);
	return check_done();
}
