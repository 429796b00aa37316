/* SPDX-License-Identifier: Apache-2.0 */
#include "symbol/symbol.h"

#include <fcntl.h>
#include <gelf.h>
#include <gnu/libc-version.h>
#include <limits.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "symbol/demangle.h"
#include "symbol/maps.h"
#include "symbol/origin.h"

#define BASE UINT64_C(0x7f0012340000)
#define LINE 2048

static const char *subjects; /* folder of the programs to look into */
static const char *oracle;   /* addr2line, of those who made the compiler */

/* A program, mapped at an address of our own. */
struct subject {
	char path[PATH_MAX];
	uint8_t build_id[BUILD_ID_MOST];
	size_t build_id_bytes;
	uint64_t offset, address, bytes; /* of its code */
	struct symbols *symbols;
};

static uint64_t runtime(const struct subject *subject, uint64_t in_file)
{
	return BASE + in_file - subject->address + subject->offset;
}

static void read_headers(struct subject *subject)
{
	int fd = open(subject->path, O_RDONLY | O_CLOEXEC);
	Elf *elf;
	size_t count = 0;

	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	CHECK(elf && elf_getphdrnum(elf, &count) == 0);
	for (size_t i = 0; i < count; i++) {
		GElf_Phdr header;

		if (gelf_getphdr(elf, (int)i, &header) && header.p_type == PT_LOAD &&
		    header.p_flags & PF_X) {
			subject->offset = header.p_offset;
			subject->address = header.p_vaddr;
			subject->bytes = header.p_filesz;
		}
	}
	elf_end(elf);
	subject->build_id_bytes = origin_build_id(fd, subject->build_id);
	close(fd);
}

static void add_mapping(struct subject *subject)
{
	struct symbol_module module = {.start = BASE,
				       .end = BASE + (1 << 24),
				       .path = subject->path,
				       .build_id = subject->build_id,
				       .build_id_bytes = subject->build_id_bytes};

	CHECK_EQ(symbols_add_module(subject->symbols, &module), 0);
}

static bool open_subject(struct subject *subject, const char *name)
{
	struct symbols_options options = {.cache = ""};

	memset(subject, 0, sizeof(*subject));
	snprintf(subject->path, sizeof(subject->path), "%s/%s", subjects, name);
	if (access(subject->path, R_OK) != 0)
		return false;
	read_headers(subject);
	CHECK_EQ(symbols_new(&subject->symbols, &options), 0);
	add_mapping(subject);
	return true;
}

static void say(void *data, const char *what)
{
	(void)data;
	printf("# %s\n", what);
}

static void close_subject(struct subject *subject)
{
	if (check_failed)
		symbols_complaints(subject->symbols, say, NULL);
	subject->symbols = symbols_free(subject->symbols);
}

static const char *base_name(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	return slash ? slash + 1 : path ? path : "??";
}

/* What addr2line says of a place: "0xADDRESS", then a function and a file:line by turns. */
static void compare_frame(const struct symbol *symbol, uint32_t number, char *function, char *place,
			  uint64_t address)
{
	const struct symbol_frame *frame = &symbol->frames[number];
	char ours[LINE];
	char *extra = strstr(place, " (discriminator");

	if (extra)
		*extra = '\0';
	snprintf(ours, sizeof(ours), "%s:%u", base_name(frame->file), frame->line);
	if (strcmp(frame->function ? frame->function : "??", function) != 0 ||
	    strcmp(ours, strcmp(base_name(place), "??:?") == 0 ? "??:0" : base_name(place)) != 0) {
		CHECK(!"the same as addr2line");
		if (check_failed < 20)
			printf("# %" PRIx64 " frame %u: %s %s, addr2line says %s %s\n", address,
			       number, frame->function ? frame->function : "??", ours, function,
			       base_name(place));
	}
}

/* Asks addr2line about each byte from `from` to `to`, and compares. Returns how many were named. */
static unsigned compare_range(struct subject *subject, const char *debug, uint64_t from,
			      uint64_t to)
{
	char command[PATH_MAX + 256], list[] = "/tmp/unweave-symbol-XXXXXX";
	static char lines[2][LINE];
	const struct symbol *symbol = NULL;
	uint64_t address = 0;
	uint32_t frame = 0;
	unsigned named = 0;
	FILE *file;
	int fd = mkstemp(list);

	file = fdopen(fd, "w");
	for (uint64_t at = from; at < to; at++)
		fprintf(file, "%" PRIx64 "\n", at);
	fclose(file);
	snprintf(command, sizeof(command), "%s -a -f -i -C -e '%s' <%s", oracle, debug, list);
	file = popen(command, "r");
	while (file && fgets(lines[0], LINE, file)) {
		lines[0][strcspn(lines[0], "\n")] = '\0';
		if (strncmp(lines[0], "0x", 2) == 0) {
			if (symbol)
				CHECK_EQ(symbol->count, frame);
			address = strtoull(lines[0], NULL, 16);
			symbol = symbols_find(subject->symbols, runtime(subject, address));
			CHECK_EQ(symbol->offset, address);
			named += symbol->frames[0].function != NULL;
			frame = 0;
			continue;
		}
		if (!fgets(lines[1], LINE, file))
			break;
		lines[1][strcspn(lines[1], "\n")] = '\0';
		if (symbol && frame < symbol->count)
			compare_frame(symbol, frame, lines[0], lines[1], address);
		frame++;
	}
	CHECK(file && pclose(file) == 0);
	unlink(list);
	return named;
}

/* Whoever names a function by its address means it, whatever was inlined at its beginning. */
static void check_entry(struct subject *subject, uint64_t start, uint64_t size)
{
	const struct symbol *entry = symbols_find(subject->symbols, runtime(subject, start));
	const struct symbol *inside =
		symbols_find(subject->symbols, runtime(subject, start + size / 2));
	const struct symbol_frame *outermost = &inside->frames[inside->count - 1];

	CHECK_EQ(entry->count, 1);
	CHECK_STR_EQ(entry->frames[0].function, outermost->function);
	CHECK_STR_EQ(base_name(entry->frames[0].file), base_name(outermost->file));
	CHECK(entry->frames[0].line <= outermost->line);
	CHECK_EQ(inside->start, runtime(subject, start));
}

/* The functions that nm lists with a size, whose names contain `part`. */
static void compare_functions(struct subject *subject, const char *debug, const char *const *parts)
{
	char command[PATH_MAX + 64], line[LINE], name[LINE];
	uint64_t start, size;
	unsigned functions = 0;
	FILE *file;

	snprintf(command, sizeof(command), "nm -S -C '%s'", debug);
	file = popen(command, "r");
	while (file && fgets(line, sizeof(line), file)) {
		bool wanted = false;

		if (sscanf(line, "%" SCNx64 " %" SCNx64 " %*[tTwW] %2047[^\n]", &start, &size,
			   name) != 3)
			continue;
		for (const char *const *part = parts; *part; part++)
			wanted |= strstr(name, *part) != NULL;
		if (!wanted || strstr(name, ".cold"))
			continue;
		functions++;
		CHECK_EQ(compare_range(subject, debug, start + 1, start + size), size - 1);
		check_entry(subject, start, size);
	}
	CHECK(file && pclose(file) == 0);
	CHECK(functions >= 3);
}

static const char *const shapes[] = {"outer", "hidden", "unlikely", "main", NULL};

static void functions_of_c_are_as_addr2line_has_them(void)
{
	static const char *const names[] = {"shapes_O0", "shapes_O2", "shapes_fixed"};
	struct subject subject;

	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (!open_subject(&subject, names[i])) {
			CHECK(!"there is such a subject");
			continue;
		}
		compare_functions(&subject, subject.path, shapes);
		close_subject(&subject);
	}
}

static void functions_of_cpp_are_as_addr2line_has_them(void)
{
	static const char *const parts[] = {"loom::", "main", NULL};
	static const char *const names[] = {"names_O0", "names_O2"};
	const char *for_c = oracle;
	struct subject subject;

	oracle = "addr2line"; /* made by g++, whatever made the rest */
	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (!open_subject(&subject, names[i]))
			continue;
		compare_functions(&subject, subject.path, parts);
		close_subject(&subject);
	}
	oracle = for_c;
}

/* Without debug information there are names, starts and nothing else. */
static void without_debug_information_the_symbol_table_names(void)
{
	struct subject subject;
	const struct symbol *symbol;
	uint64_t sizeless = 0, sized = 0, outer = 0;
	char command[PATH_MAX + 64], line[LINE], name[64];
	uint64_t start;
	FILE *file;

	CHECK(open_subject(&subject, "shapes_plain"));
	snprintf(command, sizeof(command), "nm '%s'", subject.path);
	file = popen(command, "r");
	while (file && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%" SCNx64 " %*c %63s", &start, name) != 2)
			continue;
		if (strcmp(name, "sizeless") == 0)
			sizeless = runtime(&subject, start);
		else if (strcmp(name, "sized") == 0)
			sized = runtime(&subject, start);
		else if (strcmp(name, "outer") == 0)
			outer = runtime(&subject, start);
	}
	CHECK(file && pclose(file) == 0 && sizeless && sized && outer);

	symbol = symbols_find(subject.symbols, outer + 5);
	CHECK_STR_EQ(symbol->frames[0].function, "outer");
	CHECK_STR_EQ(symbol->module, "shapes_plain");
	CHECK_EQ(symbol->start, outer);
	CHECK_EQ(symbol->count, 1);
	CHECK(!symbol->frames[0].file && symbol->frames[0].line == 0);
	/* A label ends where the next symbol begins; a function where its size says. */
	CHECK_STR_EQ(symbols_find(subject.symbols, sizeless + 15)->frames[0].function, "sizeless");
	CHECK_STR_EQ(symbols_find(subject.symbols, sizeless + 16)->frames[0].function, "sized");
	CHECK_STR_EQ(symbols_find(subject.symbols, sized + 15)->frames[0].function, "sized");
	symbol = symbols_find(subject.symbols, sized + 16);
	CHECK(!symbol->frames[0].function && symbol->start == 0);
	CHECK_STR_EQ(symbol->module, "shapes_plain");
	CHECK_STR_EQ(symbols_find(subject.symbols, sized + 32)->frames[0].function, "last");
	close_subject(&subject);
}

static void a_separate_debug_file_is_found_by_its_link(void)
{
	struct subject subject;
	char debug[PATH_MAX];

	CHECK(open_subject(&subject, "shapes_split"));
	snprintf(debug, sizeof(debug), "%s/shapes_O2", subjects);
	compare_functions(&subject, debug, shapes);
	close_subject(&subject);
}

static void count_complaint(void *data, const char *what)
{
	(*(unsigned *)data)++;
	CHECK(strstr(what, "another build"));
}

static void a_file_of_another_build_is_not_used(void)
{
	struct subject subject;
	const struct symbol *symbol;
	unsigned complaints = 0;

	CHECK(open_subject(&subject, "shapes_O2"));
	symbols_free(subject.symbols);
	CHECK_EQ(symbols_new(&subject.symbols, &(struct symbols_options){.cache = ""}), 0);
	subject.build_id[3] ^= 1;
	add_mapping(&subject);
	symbol = symbols_find(subject.symbols, runtime(&subject, subject.address + 0x200));
	CHECK(!symbol->frames[0].function && symbol->start == 0);
	CHECK_EQ(symbol->count, 1);
	CHECK_STR_EQ(symbol->module, "shapes_O2");
	CHECK_EQ(symbol->offset, subject.offset + 0x200);
	symbols_complaints(subject.symbols, count_complaint, &complaints);
	CHECK_EQ(complaints, 1);
	close_subject(&subject);
}

static int add_own_module(void *data, const struct symbol_module *module)
{
	return symbols_add_module(data, module);
}

/* The address of a function of the vdso, from its own table; 0: not there. */
static uint64_t vdso_function(const char *name)
{
	char *image = (char *)getauxval(AT_SYSINFO_EHDR);
	Elf *elf = image ? elf_memory(image, 0x2000) : NULL;
	Elf_Scn *scn = NULL;
	uint64_t found = 0;

	while (elf && (scn = elf_nextscn(elf, scn)) != NULL) {
		GElf_Shdr header;
		GElf_Sym symbol;
		Elf_Data *data = elf_getdata(scn, NULL);

		if (!gelf_getshdr(scn, &header) || header.sh_type != SHT_DYNSYM || !data)
			continue;
		for (int i = 0; gelf_getsym(data, i, &symbol); i++) {
			const char *other = elf_strptr(elf, header.sh_link, symbol.st_name);

			if (other && strcmp(other, name) == 0)
				found = (uintptr_t)image + symbol.st_value;
		}
	}
	elf_end(elf);
	return found;
}

__attribute__((noinline)) static int own_line(void)
{
	return __LINE__;
}

static void a_living_program_is_named_with_its_vdso(void)
{
	struct symbols *symbols = NULL;
	struct symbols_options options = {.pid = (uint32_t)getpid(), .cache = ""};
	const struct symbol *symbol;
	uint64_t clock_gettime_at = 0;

	CHECK_EQ(symbols_new(&symbols, &options), 0);
	CHECK_EQ(maps_each(options.pid, add_own_module, symbols), 0);
	symbol = symbols_find(symbols, (uintptr_t)own_line);
	CHECK_STR_EQ(symbol->frames[0].function, "own_line");
	CHECK_EQ(symbol->start, (uintptr_t)own_line);
	/* A build for release has no lines. */
	if (symbol->frames[0].file) {
		CHECK_STR_EQ(base_name(symbol->frames[0].file), "test_symbol.c");
		CHECK(abs((int)symbol->frames[0].line - own_line()) <= 2);
	}
	CHECK_STR_EQ(symbols_find(symbols, (uintptr_t)gnu_get_libc_version)->module, "libc.so.6");
	clock_gettime_at = vdso_function("__vdso_clock_gettime");
	if (clock_gettime_at) {
		symbol = symbols_find(symbols, clock_gettime_at);
		CHECK_STR_EQ(symbol->module, "[vdso]");
		CHECK(symbol->frames[0].function &&
		      strstr(symbol->frames[0].function, "clock_gettime"));
	}
	symbols_free(symbols);
}

static void write_perf_map(const char *path, const char *mode, uint64_t start, const char *name)
{
	FILE *file = fopen(path, mode);

	CHECK(file != NULL);
	if (!file)
		return;
	fprintf(file, "not a line\n%" PRIx64 " 20 %s\n", start, name);
	fclose(file);
}

static const char *name_of(struct symbols *symbols, uint64_t address)
{
	const char *name = symbols_find(symbols, address)->frames[0].function;

	return name ? name : "";
}

static struct symbols *own_symbols(void)
{
	struct symbols *symbols = NULL;
	struct symbols_options options = {.pid = (uint32_t)getpid(), .cache = ""};

	CHECK_EQ(symbols_new(&symbols, &options), 0);
	CHECK_EQ(maps_each(options.pid, add_own_module, symbols), 0);
	return symbols;
}

static void code_that_a_program_made_is_named_by_its_perf_map(void)
{
	uint8_t *code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t at = (uintptr_t)code;
	struct symbols *symbols;
	char path[64];

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	unlink(path);
	write_perf_map(path, "w", at + 0x10, "LazyCompile:~first app.js:1");
	write_perf_map(path, "a", at + 0x20, "later one");
	/* What was made last lies over what was there. */
	symbols = own_symbols();
	CHECK_STR_EQ(name_of(symbols, at + 0xf), "");
	CHECK_STR_EQ(name_of(symbols, at + 0x10), "LazyCompile:~first app.js:1");
	CHECK_STR_EQ(name_of(symbols, at + 0x20), "later one");
	CHECK_STR_EQ(name_of(symbols, at + 0x3f), "later one");
	CHECK_STR_EQ(name_of(symbols, at + 0x40), "");
	CHECK_EQ(symbols_find(symbols, at + 0x18)->start, at + 0x10);
	CHECK_STR_EQ(symbols_find(symbols, at + 0x18)->module, "[anon]");
	CHECK_EQ(symbols_find(symbols, at + 0x18)->offset, 0x18);
	/* It never names what lies in a file. */
	write_perf_map(path, "a", (uintptr_t)own_line, "somebody else");
	CHECK_STR_EQ(name_of(symbols, (uintptr_t)own_line), "own_line");
	symbols_free(symbols);

	/* Others could have written it. */
	CHECK_EQ(chmod(path, 0666), 0);
	symbols = own_symbols();
	CHECK_STR_EQ(name_of(symbols, at + 0x10), "");
	symbols_free(symbols);
	unlink(path);
	munmap(code, 4096);
}

static void a_deleted_file_is_read_where_that_is_permitted(void)
{
	char path[] = "/tmp/unweave-deleted-XXXXXX", command[2 * PATH_MAX];
	struct subject subject;
	struct symbols *symbols;
	const struct symbol *symbol;
	uint8_t *code;
	int fd = mkstemp(path);

	CHECK(open_subject(&subject, "shapes_O2"));
	snprintf(command, sizeof(command), "cp '%s' '%s'", subject.path, path);
	CHECK_EQ(system(command), 0);
	code = mmap(NULL, subject.offset + subject.bytes, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd,
		    0);
	CHECK(code != MAP_FAILED);
	unlink(path);
	symbols = own_symbols();
	for (uint64_t at = subject.offset; at < subject.offset + subject.bytes; at += 7) {
		const struct symbol *there = symbols_find(subject.symbols, BASE + at);

		symbol = symbols_find(symbols, (uintptr_t)code + at);
		CHECK_STR_EQ(symbol->module, base_name(path));
		CHECK(!symbol->frames[0].function ||
		      strcmp(symbol->frames[0].function, there->frames[0].function) == 0);
		/* Root may read what is mapped. */
		CHECK(geteuid() != 0 || !there->frames[0].function || symbol->frames[0].function);
	}
	symbols_free(symbols);
	munmap(code, subject.offset + subject.bytes);
	close(fd);
	close_subject(&subject);
}

static void an_address_of_no_mapping_is_said_to_be_so(void)
{
	struct symbols *symbols = NULL;
	const struct symbol *symbol;

	CHECK_EQ(symbols_new(&symbols, &(struct symbols_options){.cache = ""}), 0);
	symbol = symbols_find(symbols, 0x1234);
	CHECK(!symbol->module && !symbol->path && symbol->offset == 0 && symbol->start == 0);
	CHECK_EQ(symbol->count, 1);
	CHECK(!symbol->frames[0].function);
	CHECK(symbols_find(symbols, 0x1234) == symbol);
	symbols_free(symbols);
}

static void what_was_said_counts_more_than_files(void)
{
	static const struct symbol_frame frames[] = {{"inner", "a.c", 3}, {"outer", NULL, 0}};
	struct subject subject;
	const struct symbol *symbol;
	uint64_t address;

	CHECK(open_subject(&subject, "shapes_O2"));
	address = runtime(&subject, subject.address + 0x200);
	CHECK_EQ(symbols_add(subject.symbols, address, address - 4, frames, 2), 0);
	symbol = symbols_find(subject.symbols, address);
	CHECK_EQ(symbol->count, 2);
	CHECK_STR_EQ(symbol->frames[0].function, "inner");
	CHECK_STR_EQ(symbol->frames[0].file, "a.c");
	CHECK_EQ(symbol->frames[0].line, 3);
	CHECK_STR_EQ(symbol->frames[1].function, "outer");
	CHECK_EQ(symbol->start, address - 4);
	CHECK_STR_EQ(symbol->module, "shapes_O2");
	close_subject(&subject);
}

static void a_later_mapping_takes_the_place_of_an_earlier_one(void)
{
	struct symbols *symbols = NULL;
	struct symbols_options options = {.cache = "", .no_files = true};
	const struct symbol *before;

	CHECK_EQ(symbols_new(&symbols, &options), 0);
	CHECK_EQ(symbols_add_module(symbols, &(struct symbol_module){.start = 0x1000,
								     .end = 0x9000,
								     .path = "/lib/old.so"}),
		 0);
	before = symbols_find(symbols, 0x4000);
	CHECK_STR_EQ(before->module, "old.so");
	CHECK_EQ(symbols_add_module(symbols,
				    &(struct symbol_module){.start = 0x3000,
							    .end = 0x5000,
							    .offset = 0x100,
							    .path = "/lib/new.so (deleted)"}),
		 0);
	CHECK_STR_EQ(before->module, "old.so");
	CHECK_STR_EQ(symbols_find(symbols, 0x2fff)->module, "old.so");
	CHECK_STR_EQ(symbols_find(symbols, 0x3000)->module, "new.so");
	CHECK_STR_EQ(symbols_find(symbols, 0x4000)->module, "new.so");
	CHECK_EQ(symbols_find(symbols, 0x4000)->offset, 0x1100);
	CHECK_STR_EQ(symbols_find(symbols, 0x5000)->module, "old.so");
	CHECK_EQ(symbols_find(symbols, 0x5000)->offset, 0x4000);
	CHECK(!symbols_find(symbols, 0x9000)->module);
	symbols_free(symbols);
}

static void a_mapping_that_says_less_changes_nothing(void)
{
	struct subject subject;
	struct symbol_module module = {
		.start = BASE + 0x1000, .end = BASE + 0x2000, .offset = 0x1000};

	CHECK(open_subject(&subject, "shapes_O2"));
	module.path = subject.path;
	CHECK_EQ(symbols_add_module(subject.symbols, &module), 0);
	compare_functions(&subject, subject.path, shapes);
	/* Elsewhere in the file it is another mapping, and nothing says of which build. */
	module.offset = 0x2000;
	CHECK_EQ(symbols_add_module(subject.symbols, &module), 0);
	for (uint64_t at = module.start; at < module.end; at += 16)
		CHECK(!symbols_find(subject.symbols, at)->frames[0].function);
	close_subject(&subject);
}

static void names_are_as_their_authors_wrote_them(void)
{
	static const char *const names[][2] = {
		{"main", "main"},
		{"_Z3fooi", "foo(int)"},
		{"_ZN4loom5weaveERKSt6vectorIiSaIiEE",
		 "loom::weave(std::vector<int, std::allocator<int> > const&)"},
		{"_ZNK4loom6threadIdLi5EE3sumEv", "loom::thread<double, 5>::sum() const"},
		{"_ZN4loom12_GLOBAL__N_16hiddenEi", "loom::(anonymous namespace)::hidden(int)"},
		{"_ZZ4mainENKUliE_clEi", "main::{lambda(int)#1}::operator()(int) const"},
		{"pthread_cond_wait@@GLIBC_2.3.2", "pthread_cond_wait"},
		{"_Z3fooi@LOOM_1", "foo(int)"},
		{"_Z7computev.cold", "compute() [clone .cold]"},
		/* Coroutines, of gcc and of clang. */
		{"_Z7db_readPZL7db_readR4pooliE24_ZL7db_readR4pooli.Frame.actor", "db_read"},
		{"_Z7db_readPZL7db_readR4pooliE24_ZL7db_readR4pooli.Frame.actor.cold", "db_read"},
		{"_ZN3net6serverIiE5serveEPZNS1_5serveEiE31_ZN3net6serverIiE5serveEi.Frame.destroy",
		 "net::server::serve"},
		{"_ZZ4mainENUliE_clEPZZ4mainENKS_clEiE26_ZZ4mainENKUliE_clEi.Frame.actor",
		 "main::{lambda(int)#1}::operator()"},
		{"_ZL7db_readR4pooli.resume", "db_read"},
		{"_ZL7db_readR4pooli.cleanup", "db_read"},
		{"_ZN4asio6detail20co_spawn_entry_pointIiEENS_9awaitableIvEET_.resume",
		 "co_spawn_entry_point"},
		{"_ZN4asio12async_resultIiE8initiateINS_19initiate_async_waitEiEEvT0_.resume",
		 "async_wait"},
		{"_ZN3netlsIiEEvT_.resume", "net::operator<<"},
		{"_ZL7db_readR4pooli.resumed", "db_read(pool&, int) [clone .resumed]"},
		{"_Z1fP1_.Frame.actor", "_Z1fP1_.Frame.actor"},
		{"_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE", "core::fmt::Write::write_fmt"},
		{"_ZN71_$LT$Test$u20$$u2b$$u20$$u27$static$u20$as$u20$foo..Bar$LT$Test$GT$$GT$"
		 "3bar17h"
		 "930b740aa94f1d3aE",
		 "<Test + 'static as foo::Bar<Test>>::bar"},
		{"_RNvC6_123foo3bar", "123foo::bar"},
		{"_RNvCs1234_7mycrate3foo", "mycrate::foo"},
		{"_RNCNvCs1234_7mycrate3foo0B3_", "mycrate::foo::{closure#0}"},
		{"_RINvNtC3std3mem8align_ofjdE", "std::mem::align_of::<usize, f64>"},
		{"_Z", "_Z"},
		{"_Rotten", "_Rotten"},
		{"_ZN", "_ZN"},
	};
	char name[DEMANGLE_MOST];

	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		CHECK_EQ(demangle(names[i][0], name), strlen(names[i][1]));
		CHECK_STR_EQ(name, names[i][1]);
	}
}

static void a_name_beyond_all_measure_is_cut(void)
{
	static char symbol[20000];
	char name[DEMANGLE_MOST];

	memset(symbol, 'x', sizeof(symbol) - 1);
	memcpy(symbol, "_Z", 2);
	CHECK_EQ(demangle(symbol, name), DEMANGLE_MOST - 1);
	CHECK_EQ(strlen(name), DEMANGLE_MOST - 1);
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	subjects = realpath(argv[1], NULL);
	oracle = argv[2];
	if (!subjects)
		return 2;
	RUN(functions_of_c_are_as_addr2line_has_them);
	RUN(functions_of_cpp_are_as_addr2line_has_them);
	RUN(without_debug_information_the_symbol_table_names);
	RUN(a_separate_debug_file_is_found_by_its_link);
	RUN(a_file_of_another_build_is_not_used);
	RUN(a_living_program_is_named_with_its_vdso);
	RUN(code_that_a_program_made_is_named_by_its_perf_map);
	RUN(a_deleted_file_is_read_where_that_is_permitted);
	RUN(an_address_of_no_mapping_is_said_to_be_so);
	RUN(what_was_said_counts_more_than_files);
	RUN(a_later_mapping_takes_the_place_of_an_earlier_one);
	RUN(a_mapping_that_says_less_changes_nothing);
	RUN(names_are_as_their_authors_wrote_them);
	RUN(a_name_beyond_all_measure_is_cut);
	free((char *)subjects);
	return check_done();
}
