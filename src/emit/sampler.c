/* SPDX-License-Identifier: Apache-2.0 */
#include "emit/sampler.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "arena/ring.h"
#include "emit/links.h"
#include "emit/table.h"

#define STACK_BYTES (16u << 10)   /* copied where no run says how much is needed */
#define BEYOND_BYTES 512u         /* behind the outermost run: its dispatch, who called it */
#define HANDLER_BYTES (32u << 10) /* more than a signal and its handler take of a stack */
#define PAGE 4096u                /* the least that a page has */
#define SIGNALS 32u               /* that are no realtime signals, and 0 */
#define ABANDONED_NS UINT64_C(5000000000) /* a recorder that does nothing for so long is gone */

/*
 * ThreadSanitizer does not know that words of the ring pass from one thread to another
 * by way of the recorder, which is another process.
 */
#ifdef __clang__
#define UNSANITIZED __attribute__((no_sanitize("address", "thread")))
#else
#define UNSANITIZED __attribute__((no_sanitize_address, no_sanitize_thread))
#endif

/*
 * Timers that were set: id + 1, session, thread. Whoever takes one off deletes it: nobody else
 * may, since the kernel may have given its id to the program by then.
 */
#define TIMERS_MAX 4096u
static _Atomic uint64_t timers[TIMERS_MAX];
static _Atomic uint32_t timers_used; /* of the table, ever: nothing is noted beyond */
static _Atomic uint32_t timers_seen; /* looks at whether the thread of one has ended */

/* Of a stack: at any address, of any type. */
struct __attribute__((packed, may_alias)) word {
	uint64_t word;
};

/* A run that the thread is inside of. */
struct run {
	uint64_t task;
	const struct unweave_priv_view *view; /* NULL: its chain is not known */
	uint32_t frames;
	uint32_t cut;
};

/* What goes into a sample, before there is room for it. */
struct plan {
	struct run runs[RING_RUNS];
	uint32_t count;
	bool cut;
	uintptr_t end; /* address up to which the stack matters; 0: unknown */
	uint64_t words;
};

static uint32_t thread_id(void)
{
	return (uint32_t)syscall(SYS_gettid);
}

static uint32_t count_frames(const struct unweave_priv_view *view)
{
	const struct unweave_link *link;
	struct link_walk walk = {0};
	uint32_t count = 1;

	for (link = view_rest(view); link && count <= RING_CHAIN; link = link_next(&walk, link))
		count++;
	return count;
}

static void plan_run(struct plan *plan, uint64_t task, const struct unweave_priv_dispatch *dispatch)
{
	struct run *run = &plan->runs[plan->count++];

	*run = (struct run){.task = task};
	plan->words += RING_RUN_WORDS;
	if (!dispatch)
		return;
	plan->end = (uintptr_t)dispatch;
	run->view = &dispatch->views[__atomic_load_n(&dispatch->shown, __ATOMIC_ACQUIRE)];
	if (!run->view->code)
		return;
	run->frames = count_frames(run->view);
	run->cut = run->frames > RING_CHAIN;
	if (run->cut)
		run->frames = RING_CHAIN;
	plan->words += run->frames + ring_states_words(run->frames);
}

/* The innermost first. A task that is in the nest twice has two dispatches, in the same order. */
static void plan_runs(struct plan *plan, const struct unweave_priv_nest *nest)
{
	const struct unweave_priv_dispatch *next =
		(const void *)(uintptr_t)__atomic_load_n(&nest->dispatch, __ATOMIC_RELAXED);
	unsigned depth = 0;

	while (nest->tasks[depth])
		depth++;
	plan->cut = nest->beyond || depth > RING_RUNS;
	for (; depth && plan->count < RING_RUNS; depth--) {
		const struct unweave_priv_dispatch *dispatch = next;

		while (dispatch && dispatch->task != nest->tasks[depth - 1])
			dispatch = dispatch->outer;
		if (dispatch)
			next = dispatch->outer;
		plan_run(plan, nest->tasks[depth - 1], dispatch);
	}
}

/*
 * The runs of a thread that has not heard of the session yet, since it has been
 * inside of one run ever since: its nest is of an earlier session, or empty, but
 * the runs of the two models are there.
 */
static void plan_unheard(struct plan *plan, const struct unweave_priv_nest *nest)
{
	const struct unweave_priv_dispatch *dispatch =
		(const void *)(uintptr_t)__atomic_load_n(&nest->dispatch, __ATOMIC_RELAXED);

	for (; dispatch && plan->count < RING_RUNS; dispatch = dispatch->outer)
		if (dispatch->task)
			plan_run(plan, dispatch->task, dispatch);
	plan->cut = dispatch != NULL;
}

/* Where the task was made, by its slot: at a detail without events nobody else says. */
static uint32_t site_of(uint64_t task)
{
	const struct emit_thread *self = emit_self();
	const struct arena_task *slot;

	if (task & TABLE_LIGHT)
		return table_light_site(task);
	if (table_index(task) >= self->ready)
		return 0;
	slot = table_slot(self, task);
	return table_is(slot, task) ? table_get(slot->site) : 0;
}

/* Stores a chain, which may have got shorter or longer since it was counted. */
UNSANITIZED static uint64_t *store_run(uint64_t *to, const struct run *run)
{
	struct ring_run *head = (struct ring_run *)to;
	const struct unweave_link *link;
	struct link_walk walk = {0};
	uint32_t count = 0;
	uint64_t *addresses = to + RING_RUN_WORDS;
	int32_t *states;

	*head = (struct ring_run){.task = run->task, .site = site_of(run->task)};
	if (!run->frames)
		return addresses;
	/* The states come after as many addresses as were counted; those that are 0 are none. */
	states = (int32_t *)(addresses + run->frames);
	addresses[0] = (uintptr_t)run->view->code;
	states[0] = run->view->state;
	for (count = 1, link = view_rest(run->view); link && count < run->frames; count++) {
		addresses[count] = link_address(link);
		states[count] = link->state;
		link = link_next(&walk, link);
	}
	for (; count < run->frames; count++)
		addresses[count] = 0;
	head->frames = run->frames | (run->cut ? RING_RUN_CUT : 0);
	return addresses + run->frames + ring_states_words(run->frames);
}

#if defined(__x86_64__)
#define REGISTERS 17u

static uint64_t stack_pointer(const ucontext_t *context)
{
	return (uint64_t)context->uc_mcontext.gregs[REG_RSP];
}

/* By the numbers that DWARF gives them; the last is the pc. */
UNSANITIZED static void store_registers(uint64_t *to, const ucontext_t *context)
{
	static const uint8_t order[REGISTERS] = {
		REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI, REG_RBP, REG_RSP, REG_R8,
		REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP};

	for (unsigned i = 0; i < REGISTERS; i++)
		to[i] = (uint64_t)context->uc_mcontext.gregs[order[i]];
}
#elif defined(__aarch64__)
#define REGISTERS 33u

static uint64_t stack_pointer(const ucontext_t *context)
{
	return context->uc_mcontext.sp;
}

UNSANITIZED static void store_registers(uint64_t *to, const ucontext_t *context)
{
	for (unsigned i = 0; i < 31; i++)
		to[i] = context->uc_mcontext.regs[i];
	to[31] = context->uc_mcontext.sp;
	to[32] = context->uc_mcontext.pc;
}
#else
#define REGISTERS 0u

static uint64_t stack_pointer(const ucontext_t *context)
{
	(void)context;
	return 0;
}

UNSANITIZED static void store_registers(uint64_t *to, const ucontext_t *context)
{
	(void)to;
	(void)context;
}
#endif

/* Whether the handler runs on the stack that it interrupted, right below. */
static bool is_on_same_stack(uint64_t sp)
{
	uint64_t here = (uintptr_t)__builtin_frame_address(0);

	return here < sp && sp - here < HANDLER_BYTES;
}

/*
 * Whether nothing is asked for but the page that `sp` is in and the one that a run
 * is in, which are both in use, and nothing in between.
 */
static bool is_surely_mapped(uint64_t sp, uint64_t bytes, uint64_t run)
{
	uint64_t last = (sp + bytes - 1) / PAGE;

	return run > sp && is_on_same_stack(sp) && last == run / PAGE && last - sp / PAGE <= 1;
}

/* Word by word: a stack has places that a sanitizer would have nobody read. */
UNSANITIZED static void copy_stack_words(uint64_t *to, uint64_t sp, uint64_t bytes)
{
	const volatile struct word *from = (const volatile struct word *)(uintptr_t)sp;

	for (uint64_t i = 0; i < bytes / 8; i++)
		to[i] = from[i].word;
}

/*
 * Copies what is mapped of a stack, up to `bytes`: by the kernel, since nobody
 * knows where it ends, and what lies behind may go at any moment; or, which takes a fifth of the
 * time, without it, where a `run` says enough. Where the kernel may not be asked,
 * to the end of its page. Returns how much.
 */
static uint64_t copy_stack(void *to, uint64_t sp, uint64_t bytes, uint64_t run)
{
	struct iovec local = {to, bytes}, remote = {(void *)(uintptr_t)sp, bytes};
	long n;

	if (is_surely_mapped(sp, bytes, run)) {
		copy_stack_words(to, sp, bytes);
		return bytes;
	}
	n = syscall(SYS_process_vm_readv, getpid(), &local, 1UL, &remote, 1UL, 0UL);
	if (n >= 0)
		return (uint64_t)n & ~UINT64_C(7);
	if (errno == EFAULT || !is_on_same_stack(sp))
		return 0;
	if (bytes > PAGE - sp % PAGE)
		bytes = (PAGE - sp % PAGE) & ~UINT64_C(7);
	copy_stack_words(to, sp, bytes);
	return bytes;
}

/* How much of the stack there is to copy: up to the outermost run, if it lies there. */
static uint64_t stack_bytes(const struct plan *plan, uint64_t sp)
{
	if (plan->end > sp && plan->end - sp + BEYOND_BYTES <= RING_STACK_BYTES)
		return (plan->end - sp + BEYOND_BYTES) & ~UINT64_C(7);
	return plan->end ? RING_STACK_BYTES / 2 : STACK_BYTES;
}

UNSANITIZED static void take_sample(struct arena_control *control, const ucontext_t *context,
				    uint32_t tid, uint32_t more, bool asked)
{
	const struct emit_thread *self = emit_self();
	const struct unweave_priv_nest *nest = self->hot.nest;
	uint64_t sp = stack_pointer(context), bytes;
	struct plan plan = {.words = RING_HEAD_WORDS + REGISTERS};
	struct ring_sample *sample;
	uint64_t *at;

	if (nest && self->revision == unweave_priv_gate() >> 8)
		plan_runs(&plan, nest);
	else if (nest)
		plan_unheard(&plan, nest);
	bytes = stack_bytes(&plan, sp);
	at = ring_reserve(control, plan.words + bytes / 8);
	if (!at) {
		atomic_fetch_add_explicit(&control->sampler.lost, 1, memory_order_relaxed);
		return;
	}
	sample = (struct ring_sample *)at;
	sample->ticks = clock_ticks(emit_process.clock);
	sample->tid = tid;
	sample->more = more;
	sample->registers = REGISTERS;
	sample->runs = (uint8_t)plan.count;
	sample->runs_cut = plan.cut;
	sample->asked = asked;
	sample->sp = sp;
	at += RING_HEAD_WORDS;
	store_registers(at, context);
	at += REGISTERS;
	for (uint32_t i = 0; i < plan.count; i++)
		at = store_run(at, &plan.runs[i]);
	sample->bytes = copy_stack(at, sp, bytes, plan.end);
	/* Up to the outermost run it is all that is wanted. */
	sample->stack_cut = sample->bytes == bytes && !(plan.end > sp && plan.end - sp < bytes);
	ring_publish((uint64_t *)sample, plan.words + bytes / 8, RING_SAMPLE);
}

static uint64_t timer_entry(int id, uint32_t session, uint32_t tid)
{
	return (uint64_t)((uint32_t)id + 1) << 32 | (session & 0xff) << 24 | (tid & 0xffffff);
}

static void delete_timer(_Atomic uint64_t *entry, uint64_t expected)
{
	if (atomic_compare_exchange_strong(entry, &expected, 0))
		syscall(SYS_timer_delete, (int)(expected >> 32) - 1);
}

/* The kernel stops a timer whose thread has ended, but keeps it. */
static void delete_if_stopped(_Atomic uint64_t *timer)
{
	uint64_t entry = atomic_load(timer);

	if (entry && syscall(SYS_tgkill, getpid(), (uint32_t)entry & 0xffffff, 0) < 0 &&
	    errno == ESRCH)
		delete_timer(timer, entry);
}

static void delete_stopped_timers(void)
{
	uint32_t used = atomic_load(&timers_used);

	for (uint32_t i = 0; i < used; i++)
		delete_if_stopped(&timers[i]);
}

/* The next one in turn: where threads come and go, timers do not pile up. */
static void look_at_a_timer(void)
{
	uint32_t used = atomic_load_explicit(&timers_used, memory_order_relaxed);
	uint32_t turn = atomic_fetch_add_explicit(&timers_seen, 1, memory_order_relaxed);

	if (used)
		delete_if_stopped(&timers[turn % used]);
}

static bool note_timer(uint64_t entry)
{
	for (uint32_t i = 0; i < TIMERS_MAX; i++) {
		uint32_t used = atomic_load(&timers_used);
		uint64_t none = 0;

		if (atomic_load_explicit(&timers[i], memory_order_relaxed))
			continue;
		while (used <= i && !atomic_compare_exchange_weak(&timers_used, &used, i + 1))
			;
		if (atomic_compare_exchange_strong(&timers[i], &none, entry))
			return true;
	}
	return false;
}

/* `age`: of sessions that are so many before this one, or more. */
static void delete_timers(uint32_t session, int age)
{
	uint32_t used = atomic_load(&timers_used);

	for (uint32_t i = 0; i < used; i++) {
		uint64_t entry = atomic_load_explicit(&timers[i], memory_order_relaxed);

		if (entry && (int8_t)(session - (uint32_t)(entry >> 24)) >= age)
			delete_timer(&timers[i], entry);
	}
}

/*
 * Has a thread sampled by its CPU clock: any of the process, so that one that
 * sleeps need not be woken for it. Returns the errno with which it is refused.
 */
static int start_timer(struct arena_control *control, int signal, uint32_t tid)
{
	uint64_t period = atomic_load_explicit(&control->sampler.period_ns, memory_order_relaxed);
	struct itimerspec time = {.it_interval = {.tv_sec = (time_t)(period / 1000000000),
						  .tv_nsec = (long)(period % 1000000000)}};
	struct sigevent event = {.sigev_signo = signal, .sigev_notify = SIGEV_THREAD_ID};
	clockid_t clock = (clockid_t)(~tid << 3 | 6); /* as the kernel numbers them: its CPU time */
	uint32_t session = atomic_load_explicit(&control->sampler.session, memory_order_relaxed);
	int id;

	if (!period)
		return 0;
	event.sigev_value.sival_int = (int)session;
	event._sigev_un._tid = (pid_t)tid;
	time.it_value = time.it_interval;
	/* Not by the library's functions, which may take memory. */
	if (syscall(SYS_timer_create, clock, &event, &id) < 0)
		return errno == EINVAL ? 0 : errno; /* EINVAL: the thread has ended */
	if (!note_timer(timer_entry(id, session, tid))) {
		syscall(SYS_timer_delete, id);
		return ENOSPC;
	}
	syscall(SYS_timer_settime, id, 0, &time, NULL);
	return 0;
}

/* Another clock is there for the thread. */
static int end_timer(struct arena_control *control, uint32_t tid)
{
	uint32_t session = atomic_load_explicit(&control->sampler.session, memory_order_relaxed);
	uint32_t used = atomic_load(&timers_used);

	for (uint32_t i = 0; i < used; i++) {
		uint64_t entry = atomic_load_explicit(&timers[i], memory_order_relaxed);

		if (entry && (uint32_t)entry == (uint32_t)timer_entry(0, session, tid))
			delete_timer(&timers[i], entry);
	}
	return 0;
}

static int carry_out(struct arena_control *control, int signal, uint32_t order)
{
	return order & ARENA_TIMER_END ? end_timer(control, order & ~ARENA_TIMER_END)
				       : start_timer(control, signal, order);
}

static void carry_out_orders(struct arena_control *control, int signal)
{
	bool tidied = false;

	for (unsigned i = 0; i < ARENA_TIMERS; i++) {
		_Atomic uint32_t *order = &control->sampler.timers[i];
		uint32_t tid = atomic_load_explicit(order, memory_order_relaxed), begun;
		uint32_t error;

		begun = tid | ARENA_TIMER_BEGUN << ARENA_TIMER_SHIFT;
		/* One of those that see it gets it. */
		if (!tid || tid >> ARENA_TIMER_SHIFT ||
		    !atomic_compare_exchange_strong(order, &tid, begun))
			continue;
		error = (uint32_t)carry_out(control, signal, tid);
		if (error && !tidied) {
			/* Once: it takes a call for each timer that there is. */
			tidied = true;
			delete_stopped_timers();
			error = (uint32_t)carry_out(control, signal, tid);
		}
		atomic_compare_exchange_strong(order, &begun,
					       error ? tid | error << ARENA_TIMER_SHIFT : 0);
	}
}

/*
 * A timer of a session that is over, or of a recorder that is gone, ends itself, and with it all
 * of that session: those of threads that have ended do not tick any more.
 */
static bool timer_counts(struct arena_control *control, const siginfo_t *info)
{
	uint64_t beat = atomic_load_explicit(&control->config.heartbeat, memory_order_relaxed);

	if (atomic_load_explicit(&control->sampler.on, memory_order_relaxed) &&
	    atomic_load_explicit(&control->sampler.session, memory_order_relaxed) ==
		    (uint32_t)info->si_value.sival_int &&
	    clock_monotonic() - beat < ABANDONED_NS)
		return true;
	delete_timers((uint32_t)info->si_value.sival_int, 0);
	return false;
}

static void obey(struct arena_control *control, int signal, const siginfo_t *info,
		 const ucontext_t *context)
{
	uint64_t order = (uint64_t)(uintptr_t)info->si_value.sival_ptr;

	if (order == RING_ORDER_TIMERS)
		carry_out_orders(control, signal);
	else if (order == RING_ORDER_SAMPLE)
		take_sample(control, context, thread_id(), 0, true);
}

/* What an order says is lost where too many signals are pending; the signal is not. */
static void obey_blank(struct arena_control *control, int signal, const ucontext_t *context)
{
	if (atomic_load_explicit(&control->sampler.on, memory_order_relaxed) ==
	    ARENA_SAMPLING_ASKED)
		take_sample(control, context, thread_id(), 0, true);
	else
		carry_out_orders(control, signal);
}

static void on_signal(int signal, siginfo_t *info, void *context)
{
	struct arena_control *control = emit_process.control;
	int error = errno;

	/* Others may send this signal too. Theirs were ignored before, and are now. */
	if (!control || !emit_process.alive || !*emit_process.alive)
		return;
	if (info->si_code == SI_TIMER) {
		if (timer_counts(control, info)) {
			take_sample(control, context, thread_id(),
				    info->si_overrun > 0 ? (uint32_t)info->si_overrun : 0, false);
			/* An order that came while this was pending has no signal of its own. */
			carry_out_orders(control, signal);
			look_at_a_timer();
		}
	} else if (atomic_load_explicit(&control->sampler.on, memory_order_relaxed)) {
		if (info->si_code == SI_QUEUE)
			obey(control, signal, info, context);
		else if (info->si_code == SI_USER && !info->si_pid)
			obey_blank(control, signal, context);
		else if (info->si_code >= POLL_IN && info->si_code <= POLL_HUP) /* a perf event */
			take_sample(control, context, thread_id(), 0, false);
	}
	errno = error;
}

/*
 * UNWEAVE_SIGNAL is a number; 0 for none. Not that of a realtime signal: where too many of
 * those are pending, the kernel sends SIGIO for a perf event, which ends a program.
 */
static int chosen_signal(void)
{
	const char *variable = secure_getenv("UNWEAVE_SIGNAL");
	uint64_t number = variable ? strtoull(variable, NULL, 10) : SIGURG;

	return number < SIGNALS ? (int)number : 0;
}

static bool is_ours(const struct sigaction *action)
{
	return action->sa_flags & SA_SIGINFO && action->sa_sigaction == on_signal;
}

static bool is_nobodys(const struct sigaction *action)
{
	return !(action->sa_flags & SA_SIGINFO) &&
	       (action->sa_handler == SIG_DFL || action->sa_handler == SIG_IGN);
}

void sampler_install(struct arena_control *control)
{
	struct sigaction action = {.sa_sigaction = on_signal,
				   .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK};
	struct sigaction old;
	int signal = chosen_signal();

	control->anchors = (uint64_t)(uintptr_t)unweave_anchors();
	control->dispatch = links_code().start;
	control->dispatch_end = links_code().end;
	atomic_store(&control->sampler.refused,
		     signal ? ARENA_SIGNAL_TAKEN : ARENA_SIGNAL_UNWANTED);
	if (!signal || sigaction(signal, NULL, &old) < 0)
		return;
	/*
	 * A handler of the program's that leaves by a jump would leave a record unfinished, and
	 * so would a thread that is cancelled, by one of the signals that sigfillset() leaves out.
	 */
	memset(&action.sa_mask, 0xff, sizeof(action.sa_mask));
	if (is_ours(&old) || (is_nobodys(&old) && sigaction(signal, &action, NULL) == 0))
		atomic_store(&control->sampler.signal, (uint32_t)signal);
}

void sampler_check(struct arena_control *control)
{
	uint32_t signal = atomic_load_explicit(&control->sampler.signal, memory_order_relaxed);
	uint32_t session = atomic_load_explicit(&control->sampler.session, memory_order_relaxed);
	struct sigaction now;

	/* Those of threads that have ended, or sleep, do not end by themselves. */
	delete_timers(session, atomic_load(&control->sampler.on) ? 1 : 0);
	if (signal && sigaction((int)signal, NULL, &now) == 0 && !is_ours(&now)) {
		atomic_store(&control->sampler.signal, 0);
		delete_timers(session, 0);
	}
}

void sampler_forget(void)
{
	memset(timers, 0, sizeof(timers));
}
