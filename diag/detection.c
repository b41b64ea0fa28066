/* SPDX-License-Identifier: BSD-3-Clause */
#include "diag/detection.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/minmax.h"
#include "common/record/kinds.h"
#include "common/wire/record.h"
#include "diag/collect/stream.h"

/*
 * Cuts at a half of what crossed, a quarter, and so on, precede any bisection. They find the first appearance of a
 * finding that does not last.
 */
#define DETECTION_HALVES 7
/* A bracket is narrow enough at this share of the time since anything crossed. */
#define NARROW 0.02

/* The stream up to a moment. */
struct cut {
	size_t end_bytes;
	uint64_t at_ps;
};

/* Of a finding: indices into the cuts. */
struct bracket {
	int64_t without; /* the latest before with, as far as known; -1: none */
	int64_t with;    /* the earliest; ncuts: the whole */
};

struct search {
	const uint8_t *stream;
	struct cut *cuts;
	size_t ncuts, cap;
	const struct diagnosis *asked;
	uint32_t nasked;
	struct verdict *whole;
	struct bracket *brackets; /* [whole->nfindings] */
	uint64_t left_bytes;      /* that may still be diagnosed */
};

/* All that crossed at one moment is one cut. The configuration precedes all cuts, the end record follows them. */
static void
find_cuts(struct search *search, size_t size_bytes)
{
	struct rec_hdr hdr;

	for (size_t at = sizeof(struct rec_stream); at + sizeof(hdr) <= size_bytes; at += hdr.size) {
		memcpy(&hdr, search->stream + at, sizeof(hdr));
		if (hdr.size < sizeof(hdr) || hdr.size > size_bytes - at || hdr.type == REC_END)
			return;
		if (hdr.type != REC_FRAME && record_is_header(hdr.type))
			continue;
		if (search->ncuts == 0 || search->cuts[search->ncuts - 1].at_ps != hdr.time_ps) {
			search->cuts =
				grow(search->cuts, &search->cap, search->ncuts + 1, sizeof(*search->cuts), "moments");
			search->cuts[search->ncuts++].at_ps = hdr.time_ps;
		}
		search->cuts[search->ncuts - 1].end_bytes = at + hdr.size;
	}
}

static bool
has_like(const struct verdict *verdict, const struct finding *finding)
{
	for (uint32_t i = 0; verdict != NULL && i < verdict->nfindings; i++)
		if (verdict->findings[i].type == finding->type && strcmp(verdict->findings[i].root, finding->root) == 0)
			return true;
	return false;
}

/* @param verdict  on the stream up to a cut; NULL: there is none on so short a stream */
static void
note(struct search *search, int64_t cut, const struct verdict *verdict)
{
	for (uint32_t i = 0; i < search->whole->nfindings; i++) {
		struct bracket *bracket = &search->brackets[i];
		bool has = has_like(verdict, &search->whole->findings[i]);

		if (has && cut < bracket->with) {
			bracket->with = cut;
			bracket->without = bracket->without < cut ? bracket->without : -1;
		} else if (!has && cut < bracket->with && cut > bracket->without) {
			bracket->without = cut;
		}
	}
}

/* A stream that broke off too early for a verdict has no findings. @return 0, or -ENOMEM with err */
static int
look(struct search *search, int64_t cut, struct err *err)
{
	struct verdict *verdict = NULL;
	struct stream stream;
	struct evidence ev;
	struct err why = { "" };
	int rc;

	evidence_init(&ev);
	stream_init(&stream, &ev);
	rc = stream_feed(&stream, search->stream, search->cuts[cut].end_bytes, &why);
	if (rc == 0)
		rc = stream_finish(&stream, &why);
	if (rc == 0)
		rc = verdict_build(&ev, search->asked, search->nasked, &verdict, &why);
	stream_fini(&stream);
	search->whole->prefixes++;
	search->left_bytes -= min_u64(search->left_bytes, search->cuts[cut].end_bytes);
	if (rc != -ENOMEM)
		note(search, cut, verdict);
	verdict_destroy(verdict);
	evidence_fini(&ev);
	return rc == -ENOMEM ? err_set(err, rc, "%s", why.text[0] != '\0' ? why.text : "out of memory") : 0;
}

static uint64_t
at_ps(const struct search *search, int64_t cut)
{
	uint64_t last_ps = search->ncuts != 0 ? search->cuts[search->ncuts - 1].at_ps : 0;

	if (cut < 0)
		return 0;
	if ((size_t)cut < search->ncuts)
		return search->cuts[cut].at_ps;
	return search->whole->run.end_ps > last_ps ? search->whole->run.end_ps : last_ps;
}

/*
 * The unknown part of a finding's time, as a share of the time until it since anything crossed. @return 0: no cut is
 * between
 */
static double
width(const struct search *search, const struct bracket *bracket)
{
	uint64_t first_ps = at_ps(search, 0), with_ps = at_ps(search, bracket->with),
		 without_ps = max_u64(at_ps(search, bracket->without), first_ps);

	return bracket->with - bracket->without > 1 && with_ps > first_ps
		       ? (double)(with_ps - without_ps) / (double)(with_ps - first_ps)
		       : 0;
}

/* The middle of the bracket of the finding whose time is known least. @return a cut; -1: all are known well enough */
static int64_t
choose(const struct search *search)
{
	const struct bracket *chosen = NULL;
	double widest = NARROW;

	for (uint32_t i = 0; i < search->whole->nfindings; i++) {
		const struct bracket *bracket = &search->brackets[i];
		double is = width(search, bracket);

		if (is > widest) {
			widest = is;
			chosen = bracket;
		}
	}
	return chosen != NULL ? chosen->without + (chosen->with - chosen->without) / 2 : -1;
}

static int
bisect(struct search *search, struct err *err)
{
	int64_t cut = (int64_t)search->ncuts;
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && i < DETECTION_HALVES && cut > 1 && choose(search) >= 0; i++) {
		cut /= 2;
		rc = look(search, cut, err);
	}
	while (rc == 0 && search->whole->prefixes < DETECTION_PREFIXES && search->left_bytes > 0 &&
	       (cut = choose(search)) >= 0)
		rc = look(search, cut, err);
	return rc;
}

int
detection_times(const void *stream, size_t size_bytes, const struct diagnosis *asked, uint32_t nasked,
		struct verdict *verdict, struct err *err)
{
	struct search search = { .stream = stream,
				 .asked = asked,
				 .nasked = nasked,
				 .whole = verdict,
				 .left_bytes = DETECTION_TIMES * size_bytes };
	int rc = 0;

	search.brackets = calloc((size_t)verdict->nfindings + 1, sizeof(*search.brackets));
	if (search.brackets == NULL)
		return err_set(err, -ENOMEM, "out of memory for times to detection");
	find_cuts(&search, size_bytes);
	for (uint32_t i = 0; i < verdict->nfindings; i++)
		search.brackets[i] =
			(struct bracket){ verdict->findings[i].detected_ps != 0 ? (int64_t)search.ncuts - 1 : -1,
					  (int64_t)search.ncuts };
	verdict->prefixes = 0;
	if (verdict->nfindings != 0)
		rc = bisect(&search, err);
	for (uint32_t i = 0; i < verdict->nfindings; i++) {
		if (verdict->findings[i].detected_ps != 0)
			continue; /* its detection time is known */
		verdict->findings[i].detected_ps = at_ps(&search, search.brackets[i].with);
		verdict->findings[i].undetected_ps = at_ps(&search, search.brackets[i].without);
	}
	verdict->prefixes++; /* the whole */
	free(search.brackets);
	free(search.cuts);
	return rc;
}
