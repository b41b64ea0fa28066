/* SPDX-License-Identifier: BSD-3-Clause */
#include "plugin/session.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/input_file.h"
#include "common/minmax.h"
#include "common/spool.h"
#include "common/units.h"
#include "common/wire/record.h"
#include "plugin/account.h"

/* A recording with more epochs is replayed up to this one only. */
#define MOST_TURNS 10000000ULL

struct replay {
	struct plugin_session sessions[PLUGIN_PROGRAMS]; /* [count] */
	struct spool *spools[PLUGIN_PROGRAMS];
	uint32_t count;
	struct plugin_driver driver;
	uint64_t bytes, epoch_ps, turn_ps, now_ps, turns;
};

static int
start(struct replay *replay, const char *const *paths, uint32_t count, struct err *err)
{
	const struct plugin_account *named[PLUGIN_PROGRAMS];
	int ret = 0;

	if (count > PLUGIN_PROGRAMS)
		return err_set(err, -EINVAL, "%u plugin diagnosers; right would be %u at most", count, PLUGIN_PROGRAMS);
	while (ret == 0 && replay->count < count) {
		uint32_t i = replay->count++;
		struct spool_config config = { .socket = true, .cap_bytes = PLUGIN_RECORD_BYTES };

		ret = plugin_session_start(&replay->sessions[i], paths[i], &replay->driver, named, i, err);
		named[i] = &replay->sessions[i].account;
		config.fd = replay->sessions[i].program.records;
		if (ret == 0 && (replay->spools[i] = spool_create(&config, "a diagnoser's records", err)) == NULL)
			ret = -errno;
	}
	return ret;
}

static void
receive(void *session)
{
	plugin_session_receive(session, 0); /* the time of no line: the next turn takes them */
}

/* Sends a record of the stream to all that still read. */
static void
put(struct replay *replay, const void *data, size_t bytes)
{
	for (uint32_t i = 0; i < replay->count; i++) {
		struct plugin_session *session = &replay->sessions[i];
		int error = 0;

		if (!plugin_session_works(session))
			continue;
		if (spool_room(replay->spools[i]) < bytes)
			error = spool_wait(replay->spools[i], PLUGIN_RECORD_BYTES / 2, PLUGIN_WAIT_NS,
					   &(struct spool_waiter){ replay->driver.hurried, receive, session });
		plugin_session_records(session, error != 0 ? error : spool_errno(replay->spools[i]), replay->now_ps);
		if (!plugin_session_works(session))
			continue;
		spool_put(replay->spools[i], data, bytes);
		spool_commit(replay->spools[i]);
	}
	replay->bytes += bytes;
}

static void
turn(struct replay *replay, bool last)
{
	for (uint32_t i = 0; i < replay->count; i++) {
		if (!plugin_session_works(&replay->sessions[i]))
			continue;
		spool_flush(replay->spools[i]);
		plugin_session_turn(&replay->sessions[i], replay->now_ps, replay->bytes, last);
	}
	for (uint32_t i = 0; i < replay->count; i++) {
		plugin_session_wait(&replay->sessions[i], replay->now_ps);
		plugin_session_records(&replay->sessions[i], spool_errno(replay->spools[i]), replay->now_ps);
	}
}

/*
 * Turns that are over before a record that was sent at time_ps; all records are sent by RECORD_MAX_PS, whatever a damaged
 * one has. @param end  it is the stream's last
 */
static void
advance(struct replay *replay, uint64_t time_ps, bool end)
{
	time_ps = min_u64(time_ps, RECORD_MAX_PS);
	while (replay->epoch_ps != 0 && (end ? replay->turn_ps < time_ps : replay->turn_ps <= time_ps) &&
	       replay->turns < MOST_TURNS) {
		replay->turns++;
		replay->now_ps = replay->turn_ps;
		turn(replay, false);
		replay->turn_ps += replay->epoch_ps;
	}
	replay->now_ps = time_ps > replay->now_ps ? time_ps : replay->now_ps;
}

static void
begin(struct replay *replay, uint64_t epoch_ps)
{
	replay->epoch_ps = replay->turn_ps = min_u64(epoch_ps, RECORD_MAX_PS);
	for (uint32_t i = 0; i < replay->count; i++)
		plugin_session_begin(&replay->sessions[i], &(struct plugin_intro){ .epoch_ps = epoch_ps });
}

/* @return whether there was one more: a record or a frame of some */
static bool
take(struct replay *replay, FILE *from)
{
	static _Alignas(8) uint8_t piece[UINT16_MAX];
	struct rec_hdr hdr;
	struct rec_run run;

	if (fread(piece, 1, sizeof(hdr), from) != sizeof(hdr))
		return false;
	memcpy(&hdr, piece, sizeof(hdr));
	if (hdr.size < sizeof(hdr) || fread(piece + sizeof(hdr), 1, hdr.size - sizeof(hdr), from) != hdr.size - sizeof(hdr))
		return false;
	if (hdr.type == REC_RUN && hdr.size == sizeof(run) && replay->epoch_ps == 0) {
		memcpy(&run, piece, sizeof(run));
		begin(replay, run.epoch_ps);
	}
	advance(replay, hdr.time_ps, hdr.type == REC_END);
	put(replay, piece, hdr.size);
	return true;
}

static void
play(struct replay *replay, FILE *from)
{
	struct rec_stream head;

	if (fread(&head, 1, sizeof(head), from) == sizeof(head)) {
		put(replay, &head, sizeof(head));
		while (take(replay, from))
			continue;
	}
	turn(replay, true);
}

static int
finish(struct replay *replay, const char *report, struct err *err)
{
	const struct plugin_account *accounts[PLUGIN_PROGRAMS];

	for (uint32_t i = 0; i < replay->count; i++) {
		plugin_session_log(&replay->sessions[i], false); /* the report names those that were left out */
		accounts[i] = &replay->sessions[i].account;
	}
	return plugin_report_write(accounts, replay->count, report, err);
}

int
plugin_replay(const char *records, const char *const *paths, uint32_t count, const char *report, bool (*hurried)(void),
	      struct err *err)
{
	struct replay *replay = calloc(1, sizeof(*replay));
	FILE *from = input_fopen(records, err);
	int ret = from != NULL ? 0 : -errno;

	if (from != NULL && replay == NULL)
		ret = err_set(err, -ENOMEM, "out of memory");
	if (ret == 0) {
		replay->driver.hurried = hurried;
		ret = start(replay, paths, count, err);
	}
	if (ret == 0) {
		play(replay, from);
		ret = finish(replay, report, err);
	}
	for (uint32_t i = 0; replay != NULL && i < replay->count; i++) {
		if (replay->spools[i] != NULL)
			spool_close(replay->spools[i]);
		plugin_session_close(&replay->sessions[i]);
		plugin_account_fini(&replay->sessions[i].account);
	}
	free(replay);
	if (from != NULL)
		fclose(from);
	return ret;
}
