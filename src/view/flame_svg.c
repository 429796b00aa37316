/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The picture: one metric, root at the bottom, a <title> for each frame. It has
 * no script, and is light or dark as the viewer is.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "util/cleanup.h"
#include "view/flame.h"
#include "view/markup.h"

#define WIDTH 1200.0
#define PAD 12.0
#define ROW 18.0
#define HEADER 62.0
#define FOOTER 40.0
#define NARROWEST 0.5  /* px: less is not drawn */
#define CHARACTER 6.63 /* px, of the monospaced font at 11 px */
#define SHADES 4u      /* of each kind, so that neighbours differ */
#define KINDS 7u       /* those of a profile, and labels of tasks */
#define LABEL 6u
#define LEGEND 132.0 /* px, of a word in the legend */

struct svg {
	const struct flame *flame;
	const struct flame_caption *caption;
	FILE *to;
	double *starts; /* of each node: where its next child begins, in px */
	double scale;   /* px a ns */
	uint64_t all;
	uint32_t rows;
	double height;
};

static const uint8_t light[KINDS][3] = {
	{243, 178, 122}, {110, 196, 184}, {180, 162, 236}, {166, 178, 240},
	{246, 219, 150}, {224, 220, 213}, {178, 207, 231},
};
static const uint8_t dark[KINDS][3] = {
	{159, 96, 45},  {34, 120, 110}, {103, 80, 168}, {78, 92, 170},
	{134, 108, 50}, {73, 72, 80},   {64, 99, 130},
};
static const char *const kind_words[KINDS] = {"native",           "running task", "awaits",
					      "armed a callback", "inlined",      "no code",
					      "label of tasks"};

static void free_pointer(void *pointer)
{
	free(*(void **)pointer);
}

static uint64_t total_of(const struct svg *svg, uint32_t node)
{
	return flame_total(flame_values(svg->flame, node, FLAME_THIS), svg->caption->metric);
}

static double share_of(const struct svg *svg, uint32_t node, enum flame_side side)
{
	enum flame_metric metric = svg->caption->metric;
	uint64_t all = flame_total(flame_values(svg->flame, 0, side), metric);
	uint64_t own = flame_total(flame_values(svg->flame, node, side), metric);

	return all ? (double)own / (double)all : 0;
}

/* From -1, gone, to 1, new; a factor of 3 or more is all of it. */
static double change_of(const struct svg *svg, uint32_t node)
{
	double now = share_of(svg, node, FLAME_THIS), before = share_of(svg, node, FLAME_OTHER);
	double change;

	if (now <= 0 || before <= 0)
		return now > before ? 1 : now < before ? -1 : 0;
	change = log(now / before) / log(3);
	return fmax(-1, fmin(1, change));
}

static void put_shades(FILE *to, const uint8_t colours[KINDS][3])
{
	for (uint32_t kind = 0; kind < KINDS; kind++) {
		for (uint32_t shade = 0; shade < SHADES; shade++) {
			int by = kind == PROFILE_NOTE ? 0 : ((int)shade - 1) * 5;
			int rgb[3];

			for (int i = 0; i < 3; i++) {
				int level = colours[kind][i] + by * (3 - i) / 2;

				rgb[i] = level > 255 ? 255 : level;
			}
			fprintf(to, ".k%u%u{fill:#%02x%02x%02x}", kind, shade, rgb[0], rgb[1],
				rgb[2]);
		}
	}
}

static void put_style(FILE *to)
{
	fputs("<style>\n"
	      ".paper{fill:#ffffff}text{font:11px ui-monospace,'DejaVu Sans Mono',Menlo,Consolas,"
	      "monospace;fill:#1f1b16}"
	      ".title{font:600 17px system-ui,'Segoe UI','DejaVu Sans',sans-serif}"
	      ".facts,.legend{font:12px system-ui,'Segoe UI','DejaVu Sans',sans-serif;fill:#78716a}"
	      ".edge{fill:#0d5f57}.onchange{fill:#1f1b16}\n",
	      to);
	put_shades(to, light);
	fputs("\n@media (prefers-color-scheme:dark){.paper{fill:#1b1b20}text{fill:#f5f2ec}"
	      ".facts,.legend{fill:#9a968f}.edge{fill:#7fe3d6}",
	      to);
	put_shades(to, dark);
	fputs("}\n</style>\n", to);
}

static const char *metric_title(enum flame_metric metric)
{
	static const char *const words[FLAME_METRICS] = {
		"CPU time",
		"waiting, pending and queued",
		"all time of tasks",
	};

	return words[metric];
}

static void put_header(const struct svg *svg)
{
	const struct model_totals *totals = svg->caption->totals[FLAME_THIS];
	double coverage = flame_coverage(totals);

	fprintf(svg->to, "<text class=\"title\" x=\"%g\" y=\"28\">", PAD);
	markup_text_within(svg->to, svg->caption->title, 110);
	fprintf(svg->to, "</text>\n<text class=\"facts\" x=\"%g\" y=\"48\">%s: %s", PAD,
		metric_title(svg->caption->metric), markup_duration(svg->all).text);
	fprintf(svg->to, " · %s recorded", markup_duration(totals->last - totals->first).text);
	fprintf(svg->to, " · %s tasks", markup_count(totals->tasks).text);
	fprintf(svg->to, " · %s samples", markup_count(totals->samples).text);
	if (coverage >= 0)
		fprintf(svg->to, " · %.1f %% splice coverage", coverage * 100);
	if (totals->lost)
		fprintf(svg->to, " · %s events lost", markup_count(totals->lost).text);
	if (flame_is_comparison(svg->flame)) {
		fputs(" · against ", svg->to);
		markup_text_within(svg->to, svg->caption->traces[FLAME_OTHER], 40);
	}
	fputs("</text>\n", svg->to);
}

static void put_change_legend(const struct svg *svg, double y)
{
	fprintf(svg->to,
		"<rect x=\"%g\" y=\"%g\" width=\"12\" height=\"12\" fill=\"#548ee2\"/>"
		"<text class=\"legend\" x=\"%g\" y=\"%g\">less of it than in the other</text>"
		"<rect x=\"%g\" y=\"%g\" width=\"12\" height=\"12\" fill=\"#e25c4a\"/>"
		"<text class=\"legend\" x=\"%g\" y=\"%g\">more, or new</text>\n",
		PAD, y, PAD + 18, y + 10, PAD + 220, y, PAD + 238, y + 10);
}

static void put_legend(const struct svg *svg)
{
	double y = svg->height - FOOTER / 2 - 4;

	if (flame_is_comparison(svg->flame)) {
		put_change_legend(svg, y);
		return;
	}
	for (uint32_t kind = 0; kind < KINDS; kind++) {
		double x = PAD + kind * LEGEND;

		fprintf(svg->to,
			"<rect class=\"k%u1\" x=\"%g\" y=\"%g\" width=\"12\" height=\"12\" "
			"rx=\"2\"/><text class=\"legend\" x=\"%g\" y=\"%g\">%s</text>\n",
			kind, x, y, x + 18, y + 10, kind_words[kind]);
	}
	fprintf(svg->to,
		"<rect class=\"edge\" x=\"%g\" y=\"%g\" width=\"12\" height=\"2\"/>"
		"<text class=\"legend\" x=\"%g\" y=\"%g\">async meets native code</text>\n",
		PAD + KINDS * LEGEND, y + 5, PAD + KINDS * LEGEND + 18, y + 10);
}

static void put_tooltip(const struct svg *svg, uint32_t node, const struct flame_name *name)
{
	const struct flame_values *values = flame_values(svg->flame, node, FLAME_THIS);
	uint64_t self = flame_self(values, svg->caption->metric), total = total_of(svg, node);
	uint64_t queued = svg->caption->metric == FLAME_CPU ? 0 : values->total[PROFILE_QUEUED];

	fputs("<title>", svg->to);
	markup_text(svg->to, node ? flame_string(svg->flame, name->function) : "all");
	if (*flame_string(svg->flame, name->module)) {
		fputc('\n', svg->to);
		markup_text(svg->to, flame_string(svg->flame, name->module));
	}
	if (*flame_string(svg->flame, name->file)) {
		fputc('\n', svg->to);
		markup_text(svg->to, flame_string(svg->flame, name->file));
		if (name->line)
			fprintf(svg->to, ":%" PRIu32, name->line);
	}
	fprintf(svg->to, "\ntotal %s, %s", markup_duration(total).text,
		markup_share(total, svg->all).text);
	fprintf(svg->to, "\nself %s, %s", markup_duration(self).text,
		markup_share(self, svg->all).text);
	if (queued)
		fprintf(svg->to, "\nqueued %s", markup_duration(queued).text);
	if (flame_is_comparison(svg->flame))
		fprintf(svg->to, "\nits share: %.2f %%, in the other %.2f %%",
			100 * share_of(svg, node, FLAME_THIS),
			100 * share_of(svg, node, FLAME_OTHER));
	fputs("</title>", svg->to);
}

/* A note that is not in brackets is the label of tasks. */
static uint32_t kind_of(const struct flame *flame, uint32_t node)
{
	const struct flame_name *name = flame_name(flame, flame_at(flame, node)->name);

	if (node && name->kind == PROFILE_NOTE && *flame_string(flame, name->function) != '[')
		return LABEL;
	return name->kind < LABEL ? name->kind : PROFILE_NOTE;
}

static void put_fill(const struct svg *svg, uint32_t node, const struct flame_name *name)
{
	static const uint8_t none[3] = {226, 221, 212}, up[3] = {226, 92, 74},
			     down[3] = {84, 142, 226};
	double change;
	const uint8_t *target;
	int rgb[3];

	if (!flame_is_comparison(svg->flame)) {
		fprintf(svg->to, " class=\"k%u%u\"", kind_of(svg->flame, node),
			name->function * 7 % SHADES);
		return;
	}
	change = change_of(svg, node);
	target = change > 0 ? up : down;
	for (int i = 0; i < 3; i++)
		rgb[i] = (int)lround(none[i] + (target[i] - none[i]) * fabs(change));
	fprintf(svg->to, " fill=\"#%02x%02x%02x\"", rgb[0], rgb[1], rgb[2]);
}

static bool is_async(const struct flame *flame, uint32_t node)
{
	uint32_t kind = flame_name(flame, flame_at(flame, node)->name)->kind;

	return kind == PROFILE_AWAIT || kind == PROFILE_ARMED || kind == PROFILE_RUNNING;
}

static bool is_note(const struct flame *flame, uint32_t node)
{
	return flame_name(flame, flame_at(flame, node)->name)->kind == PROFILE_NOTE;
}

static bool is_boundary(const struct flame *flame, uint32_t node)
{
	uint32_t parent = flame_at(flame, node)->parent;

	return parent && !is_note(flame, node) && !is_note(flame, parent) &&
	       is_async(flame, node) != is_async(flame, parent);
}

static void put_frame(const struct svg *svg, uint32_t node, double x, double width)
{
	const struct flame_node *at = flame_at(svg->flame, node);
	const struct flame_name *name = flame_name(svg->flame, at->name);
	double y = svg->height - FOOTER - (at->depth + 1) * ROW;
	double shown = width > 3 ? width - 1 : width;
	size_t fits = width > 8 ? (size_t)((width - 8) / CHARACTER) : 0;

	fputs("<g>", svg->to);
	put_tooltip(svg, node, name);
	fprintf(svg->to, "<rect x=\"%.2f\" y=\"%g\" width=\"%.2f\" height=\"%g\" rx=\"%g\"", x, y,
		shown, ROW - 1, width > 8 ? 2.0 : 0.0);
	put_fill(svg, node, name);
	fputs("/>", svg->to);
	if (is_boundary(svg->flame, node))
		fprintf(svg->to,
			"<rect class=\"edge\" x=\"%.2f\" y=\"%g\" width=\"%.2f\" height=\"2\"/>", x,
			y + ROW - 2.5, shown);
	if (fits >= 3) {
		fprintf(svg->to, "<text x=\"%.2f\" y=\"%g\"%s>", x + 4, y + 12.5,
			flame_is_comparison(svg->flame) ? " class=\"onchange\"" : "");
		markup_text_within(svg->to, node ? flame_string(svg->flame, name->function) : "all",
				   fits);
		fputs("</text>", svg->to);
	}
	fputs("</g>\n", svg->to);
}

/* Calls for each frame that is wide enough; the walk goes from left to right. */
static void each_frame(struct svg *svg,
		       void (*call)(struct svg *svg, uint32_t node, double x, double width))
{
	uint32_t node = 0;

	svg->starts[0] = PAD;
	do {
		uint32_t parent = flame_at(svg->flame, node)->parent;
		double width = (double)total_of(svg, node) * svg->scale;
		double x = node ? svg->starts[parent] : PAD;

		if (node) {
			svg->starts[parent] += width;
			svg->starts[node] = x;
		}
		if (width >= NARROWEST)
			call(svg, node, x, width);
		node = flame_next(svg->flame, node);
	} while (node);
}

static void count_rows(struct svg *svg, uint32_t node, double x, double width)
{
	uint32_t depth = flame_at(svg->flame, node)->depth;

	(void)x;
	(void)width;
	if (depth + 1 > svg->rows)
		svg->rows = depth + 1;
}

static void draw(struct svg *svg, uint32_t node, double x, double width)
{
	put_frame(svg, node, x, width);
}

static void put_empty(const struct svg *svg)
{
	static const char *const sentences[FLAME_METRICS] = {
		"There are no CPU samples in this trace.",
		"No task waited in this trace.",
		"There are no times of tasks in this trace.",
	};

	fprintf(svg->to,
		"<text class=\"facts\" x=\"%g\" y=\"%g\" text-anchor=\"middle\">%s</text>\n",
		WIDTH / 2, HEADER + 50, sentences[svg->caption->metric]);
}

int flame_svg(const struct flame *flame, const struct flame_caption *caption, FILE *to)
{
	struct svg svg = {.flame = flame, .caption = caption, .to = to};
	cleanup(free_pointer) double *starts = calloc(flame_count(flame), sizeof(*starts));

	if (!starts)
		return -ENOMEM;
	svg.starts = starts;
	svg.all = total_of(&svg, 0);
	svg.scale = svg.all ? (WIDTH - 2 * PAD) / (double)svg.all : 0;
	each_frame(&svg, count_rows);
	svg.height = svg.rows ? HEADER + svg.rows * ROW + FOOTER : HEADER + 100;

	fprintf(to,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		"<svg xmlns=\"http://www.w3.org/2000/svg\" version=\"1.1\" width=\"%g\" "
		"height=\"%g\" viewBox=\"0 0 %g %g\" role=\"img\">\n<title>",
		WIDTH, svg.height, WIDTH, svg.height);
	markup_text(to, caption->title);
	fputs("</title>\n", to);
	put_style(to);
	fputs("<rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n", to);
	put_header(&svg);
	if (svg.all) {
		each_frame(&svg, draw);
		put_legend(&svg);
	} else {
		put_empty(&svg);
	}
	fputs("</svg>\n", to);
	return ferror(to) ? -EIO : 0;
}
