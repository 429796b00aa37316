/* SPDX-License-Identifier: Apache-2.0 */
/* Core files, put together by hand. */
#include <elf.h>
#include <errno.h>
#include <sys/mman.h>
#include <sys/procfs.h>
#include <unistd.h>

#include "check.h"
#include "core/core.h"

#define SEGMENTS 8
#define AT UINT64_C(0x7f0000000000)

#if defined(__aarch64__)
#define MACHINE EM_AARCH64
#else
#define MACHINE EM_X86_64
#endif

/* A file as it grows: the headers first, which are filled in last. */
static struct {
	char bytes[65536];
	size_t length;
	Elf64_Phdr headers[SEGMENTS];
	int count;
} file;

static void begin(void)
{
	memset(&file, 0, sizeof(file));
	file.length = sizeof(Elf64_Ehdr) + sizeof(file.headers);
}

static void add(uint32_t type, uint64_t address, const void *bytes, size_t held, uint64_t size)
{
	file.headers[file.count++] = (Elf64_Phdr){.p_type = type,
						  .p_flags = PF_R,
						  .p_offset = file.length,
						  .p_vaddr = address,
						  .p_filesz = held,
						  .p_memsz = size};
	memcpy(file.bytes + file.length, bytes, held);
	file.length += held;
}

/* Returns what core_open() does, for the first `length` bytes of the file. */
static int finish(struct core **ret, uint16_t machine, size_t length)
{
	Elf64_Ehdr header = {
		.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
			    EV_CURRENT},
		.e_type = ET_CORE,
		.e_machine = machine,
		.e_version = EV_CURRENT,
		.e_phoff = sizeof(header),
		.e_ehsize = sizeof(header),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = (uint16_t)file.count,
	};
	int fd = memfd_create("core", MFD_CLOEXEC);

	memcpy(file.bytes, &header, sizeof(header));
	memcpy(file.bytes + sizeof(header), file.headers, sizeof(file.headers));
	CHECK_EQ(write(fd, file.bytes, length), (ssize_t)length);
	return core_open(ret, fd, NULL);
}

static size_t add_note(char *to, uint32_t kind, const void *bytes, size_t length)
{
	Elf64_Nhdr header = {.n_namesz = 5, .n_descsz = (uint32_t)length, .n_type = kind};

	memcpy(to, &header, sizeof(header));
	memcpy(to + sizeof(header), "CORE\0\0\0", 8);
	memcpy(to + sizeof(header) + 8, bytes, length);
	return sizeof(header) + 8 + ((length + 3) & ~(size_t)3);
}

static void memory_is_read_across_segments(void)
{
	struct core *core = NULL;
	char found[8] = "";

	begin();
	/* Not in order; the kernel's are. */
	add(PT_LOAD, AT + 4, "efgh", 4, 4);
	add(PT_LOAD, AT, "abcd", 4, 4);
	CHECK_EQ(finish(&core, MACHINE, file.length), 0);
	CHECK(core_read(core, AT + 2, found, 4));
	CHECK_STR_EQ(found, "cdef");
	CHECK(core_has(core, AT, 8));
	CHECK(!core_has(core, AT, 9));
	CHECK(!core_read(core, AT + 6, found, 4));
	CHECK(!core_read(core, AT - 1, found, 2));
	CHECK(!core_read(core, UINT64_MAX - 1, found, 4));
	core_free(core);
}

static void what_was_left_out_is_not_there(void)
{
	struct core *core = NULL;
	char found[8];

	begin();
	add(PT_LOAD, AT, "abcd", 4, 4096);
	CHECK_EQ(finish(&core, MACHINE, file.length), 0);
	CHECK(core_read(core, AT, found, 4));
	CHECK(!core_read(core, AT, found, 5));
	CHECK(!core->cut);
	core_free(core);
}

static void a_file_that_is_cut_says_so(void)
{
	struct core *core = NULL;
	char found[8];

	begin();
	add(PT_LOAD, AT, "abcd", 4, 4);
	CHECK_EQ(finish(&core, MACHINE, file.length - 1), 0);
	CHECK(core->cut);
	CHECK(core_read(core, AT, found, 3));
	CHECK(!core_read(core, AT, found, 4));
	core_free(core);
}

static void the_first_of_two_that_overlap_counts(void)
{
	struct core *core = NULL;
	char found[8] = "";

	begin();
	add(PT_LOAD, AT, "abcd", 4, 4);
	add(PT_LOAD, AT + 2, "wxyz", 4, 4);
	add(PT_LOAD, UINT64_MAX - 1, "high", 4, 4);
	CHECK_EQ(finish(&core, MACHINE, file.length), 0);
	CHECK_EQ(core->segment_count, 1);
	CHECK(core_read(core, AT, found, 4));
	CHECK_STR_EQ(found, "abcd");
	CHECK(!core_read(core, AT + 4, found, 1));
	core_free(core);
}

static void notes_say_who_it_was(void)
{
	struct elf_prstatus threads[2] = {{.pr_pid = 12, .pr_cursig = 11}, {.pr_pid = 10}};
	struct elf_prpsinfo process = {.pr_pid = 10, .pr_uid = 1000, .pr_fname = "server"};
	struct core *core = NULL;
	char notes[4096];
	size_t length = 0;

	begin();
	length += add_note(notes + length, NT_PRSTATUS, &threads[0], sizeof(threads[0]));
	length += add_note(notes + length, NT_PRPSINFO, &process, sizeof(process));
	length += add_note(notes + length, NT_AUXV, "???", 3);
	length += add_note(notes + length, NT_PRSTATUS, &threads[1], sizeof(threads[1]));
	add(PT_NOTE, 0, notes, length, 0);
	CHECK_EQ(finish(&core, MACHINE, file.length), 0);
	CHECK_EQ(core->pid, 10);
	CHECK_EQ(core->uid, 1000);
	CHECK_EQ(core->threads, 2);
	CHECK_EQ(core->thread, 12);
	CHECK_EQ(core->signal, 11);
	CHECK_STR_EQ(core->program, "server");
	core_free(core);
}

static void files_are_found_by_address(void)
{
	const uint64_t table[] = {2, 4096, AT + 8192, AT + 12288, 3, AT, AT + 4096, 0};
	struct core *core = NULL;
	char list[128], notes[256];

	begin();
	memcpy(list, table, sizeof(table));
	memcpy(list + sizeof(table), "/lib/b\0/lib/a", 14);
	add(PT_NOTE, 0, notes, add_note(notes, NT_FILE, list, sizeof(table) + 14), 0);
	CHECK_EQ(finish(&core, MACHINE, file.length), 0);
	CHECK_EQ(core->mapping_count, 2);
	CHECK_STR_EQ(core_mapping_at(core, AT + 4095)->path, "/lib/a");
	CHECK(!core_mapping_at(core, AT + 4096));
	CHECK_STR_EQ(core_mapping_at(core, AT + 8192)->path, "/lib/b");
	CHECK_EQ(core_mapping_at(core, AT + 8192)->offset, 3 * 4096);
	core_free(core);
}

/* More of them than there is text for; and a number that no note has room for. */
static void lists_that_lie_are_cut(void)
{
	const uint64_t few[] = {2, 1, AT, AT + 1, 0, AT + 2, AT + 3, 0};
	const uint64_t none[] = {UINT64_MAX / 24 + 1, 1, AT, AT + 1, 0};
	struct core *core = NULL;
	char list[128], notes[256];

	begin();
	memcpy(list, few, sizeof(few));
	memcpy(list + sizeof(few), "/lib/a", 6);
	add(PT_NOTE, 0, notes, add_note(notes, NT_FILE, list, sizeof(few) + 6), 0);
	CHECK_EQ(finish(&core, MACHINE, file.length), 0);
	CHECK_EQ(core->mapping_count, 1);
	CHECK_STR_EQ(core->mappings[0].path, "/lib/a");
	core_free(core);
	begin();
	add(PT_NOTE, 0, notes, add_note(notes, NT_FILE, none, sizeof(none)), 0);
	CHECK_EQ(finish(&core, MACHINE, file.length), 0);
	CHECK_EQ(core->mapping_count, 0);
	core_free(core);
}

static void other_files_are_refused(void)
{
	struct core *core = NULL;

	begin();
	CHECK_EQ(finish(&core, MACHINE, 0), -EBADMSG);
	CHECK_EQ(finish(&core, MACHINE, 40), -EBADMSG);
	CHECK_EQ(finish(&core, EM_SPARC, file.length), -EBADMSG);
	CHECK(!core);
}

int main(void)
{
	RUN(memory_is_read_across_segments);
	RUN(what_was_left_out_is_not_there);
	RUN(a_file_that_is_cut_says_so);
	RUN(the_first_of_two_that_overlap_counts);
	RUN(notes_say_who_it_was);
	RUN(files_are_found_by_address);
	RUN(lists_that_lie_are_cut);
	RUN(other_files_are_refused);
	return check_done();
}
