/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Switches that run SONiC, as a scenario: config_db.json of each, buffers and qos JSON, pg_profile_lookup.ini. Tables and
 * fields are those of sonic-buildimage's src/sonic-yang-models/doc/Configuration.md.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/err.h"
#include "topo/topo.h"

#define SONIC_MAX_SWITCHES 1000
#define SONIC_MAX_BYTES (4u << 20) /* of one file, and of all that are of no single switch */
#define SONIC_MAX_GROUPS 100000    /* objects and lists in a file: with its size they bound what it takes in memory */
#define SONIC_DSCP 26              /* of RoCE data, as switches are commonly configured */

struct sonic_files {
	const char *const *paths;
	size_t count;
	uint32_t dscp; /* of RoCE data in that network */
};

/*
 * Writes the scenario: switches with a config_db.json, their cables and settings, and hosts where other neighbors are. One
 * file may have all namespaces of a device. A JSON file without a hostname supplements all switches: they have its tables
 * where they lack their own. What is missing here causes a warning.
 * @return 0; -EINVAL with err set (file, place in the JSON, the value, a right value); -EIO, -ENOMEM
 */
int sonic_import(const struct sonic_files *files, FILE *to, struct err *err);

/* The settings in one switch's files, as far as a scenario has them. Private to the importer. */

#define SONIC_NAME 64
#define SONIC_CLASSES 8
#define SONIC_QUEUES 20 /* of a port: unicast and multicast ones; those from SONIC_CLASSES on carry nothing here */
#define SONIC_PORTS 1024
#define SONIC_POOLS 8
#define SONIC_PROFILES 64
#define SONIC_WREDS 32
#define SONIC_ROWS 512 /* of pg_profile_lookup.ini */
#define SONIC_MAX_BUFFER 1000000000000ULL
#define SONIC_MAX_MBPS 10000000
#define SONIC_MAX_LENGTH_M 200000 /* 1 ms of light in glass */
#define SONIC_NONE 0xff

struct sonic_pool {
	char name[SONIC_NAME];
	bool egress, is_static;
	bool both;     /* queues use it, too: SONiC's type "both" */
	bool has_size; /* else SONiC computes it as it runs; 0: of ports without a cable, and no pool here */
	uint64_t size_bytes, xoff_bytes;
};

struct sonic_profile {
	char name[SONIC_NAME];
	uint8_t pool;
	bool is_static; /* by the threshold that it has, whatever its pool's mode is */
	uint64_t size_bytes, xon_bytes, xon_offset_bytes, xoff_bytes, static_th_bytes;
	int32_t dynamic_th;
};

struct sonic_wred {
	char name[SONIC_NAME];
	uint64_t kmin_bytes, kmax_bytes;
	double pmax;
};

struct sonic_watchdog {
	bool enabled;
	uint32_t detection_ms, restoration_ms;
	char action[8];
};

/* Settings of one port; SONIC_NONE for those that are missing. */
struct sonic_settings {
	uint8_t groups[SONIC_CLASSES];  /* number of a profile, by priority group as read, then by class */
	uint8_t queues[SONIC_CLASSES];  /* number of a profile */
	uint8_t wreds[SONIC_CLASSES];   /* number of a WRED profile */
	uint8_t weights[SONIC_CLASSES]; /* DWRR; 0: none */
	uint8_t strict;                 /* bit q: queue q */
	uint8_t lossless;               /* bit p: class p has PFC */
	bool asymmetric;
	uint8_t roce_class;    /* queue of RoCE data by its DSCP; 0 for best effort */
	uint8_t lossless_dscp; /* the lowest that leads to a class with PFC, where the data's does not; else SONIC_NONE */
	uint16_t mtu;          /* largest IP packet; 0: any */
	struct sonic_watchdog watchdog;
};

struct sonic_port {
	char name[SONIC_NAME];
	char alias[SONIC_NAME], asic_port[SONIC_NAME]; /* neighbors may call it so; "": none */
	char peer[SONIC_NAME], peer_port[SONIC_NAME];  /* "": none */
	bool up, leads_to_switch, leads_to_known;      /* the last two by DEVICE_NEIGHBOR_METADATA */
	uint64_t rate_mbps;
	uint32_t length_m;
	struct sonic_settings settings;
	uint8_t group_of[SONIC_CLASSES]; /* priority group of a class (queue), by the maps of its traffic classes */
	uint16_t number;                 /* in the scenario; 0: it has no cable */
};

/* What the files have and a scenario does not: kinds are rows of a table in sonic_files.c. */
#define SONIC_KINDS_LEFT 16
struct sonic_left {
	char first[256]; /* file, place, value */
	uint32_t count;
};

struct sonic_switch {
	const char *path;
	char name[SONIC_NAME];                     /* the device's; with its ASIC's where files of several are there */
	char device[SONIC_NAME], asic[SONIC_NAME]; /* hostname, and asic_name of a device of several ASICs; "": none */
	struct sonic_port *ports;                  /* [nports] in the order of their numbers */
	uint32_t nports, ports_cap;
	struct sonic_pool pools[SONIC_POOLS];
	struct sonic_profile profiles[SONIC_PROFILES];
	struct sonic_wred wreds[SONIC_WREDS];
	uint32_t npools, nprofiles, nwreds;
	struct sonic_left wrong_side; /* rows with a profile of the other side's pool */
	uint64_t buffer_bytes;        /* its largest pool */
	bool has_warned_of_both;      /* of a pool for both sides */
};

/* A row of pg_profile_lookup.ini; the size as it is there. */
struct sonic_row {
	uint64_t rate_mbps, size_bytes, xon_bytes, xon_offset_bytes, xoff_bytes;
	uint32_t length_m;
	int64_t threshold; /* a power of 2 or bytes, as the pool's mode is */
};

/* "Ethernet0,Ethernet4|3-4" */
struct sonic_key {
	const char *bar; /* behind the ports */
	uint32_t from, to;
};

/* What is of no single switch. */
struct sonic_common {
	struct sonic_left left[SONIC_KINDS_LEFT];
	json_t *tables;  /* object: tables that switches have where they lack their own */
	json_t *origins; /* object: the file of each */
	struct sonic_row rows[SONIC_ROWS];
	uint32_t nrows;
	uint32_t dscp;
};

/* @return DEVICE_METADATA.localhost's hostname or asic_name in a config_db.json; NULL: it has none */
const char *sonic_metadata(const json_t *config, const char *field);
/* The document of a file. @param bytes  out: its size. @return it, the caller's to release; NULL with err and errno set */
json_t *sonic_load(const char *path, size_t *bytes, struct err *err);
/*
 * Reads a switch; at->path and at->name are given, the rest is zero.
 * @return 0 or a negative errno with err set; sonic_switch_fini() in any case
 */
int sonic_read_switch(const json_t *config, const struct sonic_common *common, struct sonic_switch *at, struct err *err);
void sonic_switch_fini(struct sonic_switch *at);
/* Adds the rows of a pg_profile_lookup.ini. @return 0, -EINVAL or -ENOMEM with err set */
int sonic_read_rows(const char *path, struct sonic_common *common, struct err *err);
/* @return false: no key of ports and classes, in order */
bool sonic_parse_key(const char *text, struct sonic_key *key);
/* Notes what of a file's tables a scenario has no place for. */
void sonic_note_left(const json_t *tables, const char *path, struct sonic_left left[SONIC_KINDS_LEFT]);
/* Notes a field, and its value. @param field, value  NULL: none */
void sonic_note(struct sonic_left *left, const char *path, const char *table, const char *key, const char *field,
		const json_t *value);
/* Warns of places of one kind: the first, its value, what it means here, and their number. */
void sonic_warn_of(const struct sonic_left *left, const char *meaning);
/* Warns of what was noted, a line a kind: the first place, its value, what it means here, and the number of places. */
void sonic_warn_of_left(const struct sonic_left left[SONIC_KINDS_LEFT]);
/*
 * Vendors' files differ in whether a pool's size includes reserves (SAI, POOL_ATTR_SHARED_SIZE) and headroom. The
 * chip's buffer is as large as its largest pool: groups' bytes that do not fit in it beside an ingress pool are part of
 * that pool's size, and are subtracted.
 */
void sonic_separate_headroom(struct sonic_switch *at);
/* Pools without a size are of SONiC's dynamic buffer model, which computes them as it runs. */
void sonic_drop_pools_without_size(struct sonic_switch *at);
/* Converts priority groups to classes. */
void sonic_sort_groups(struct sonic_switch *at);
/* Writes the pools and profiles of a switch that has some. */
void sonic_write_pools(const struct sonic_switch *at, FILE *to);
/* Writes the settings of a switch, or of its ports that differ. @param data_class  of RoCE data at hosts */
void sonic_write_settings(const struct sonic_switch *at, const struct sonic_settings *settings, uint8_t data_class,
			  FILE *to);
