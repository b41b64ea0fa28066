/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Allocations of the programs under test, which the linker sends here (--wrap, tests/unit/meson.build). Those of shared
 * libraries stay theirs.
 */
#include "tests/unit/alloc.h"

#include <errno.h>
#include <malloc.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LARGE_BYTES (1u << 20)

static _Thread_local uint64_t left; /* allocations up to the one that is refused; 0: none is */
static _Thread_local bool refused;

void
alloc_refuse(uint64_t nth)
{
	left = nth;
	refused = false;
}

bool
alloc_was_refused(void)
{
	bool was = refused;

	alloc_refuse(0);
	return was;
}

static bool
is_refused(void)
{
	if (left == 0 || --left != 0)
		return false;
	refused = true;
	errno = ENOMEM;
	return true;
}

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *old, size_t bytes);
void __real_free(void *block);
void *__real_aligned_alloc(size_t alignment, size_t bytes);
char *__real_strdup(const char *text);
char *__real_strndup(const char *text, size_t cap);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *old, size_t bytes);
void __wrap_free(void *block);
void *__wrap_aligned_alloc(size_t alignment, size_t bytes);
char *__wrap_strdup(const char *text);
char *__wrap_strndup(const char *text, size_t cap);
FILE *__real_fdopen(int fd, const char *mode);
FILE *__wrap_fdopen(int fd, const char *mode);
void *__real_XML_ParserCreate(const char *encoding) __attribute__((weak)); /* of programs that link expat */
void *__wrap_XML_ParserCreate(const char *encoding);
/* Of programs that link libsmartcols, whose own allocations are a shared library's. */
void *__real_scols_new_table(void) __attribute__((weak));
void *__real_scols_table_new_column(void *table, const char *name, double width, int flags) __attribute__((weak));
void *__real_scols_table_new_line(void *table, void *parent) __attribute__((weak));
int __real_scols_print_table_to_string(void *table, char **text) __attribute__((weak));
void *__wrap_scols_new_table(void);
void *__wrap_scols_table_new_column(void *table, const char *name, double width, int flags);
void *__wrap_scols_table_new_line(void *table, void *parent);
int __wrap_scols_print_table_to_string(void *table, char **text);
int __wrap_asprintf(char **text, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/*
 * With MALLOC_PERTURB_ glibc fills whole blocks, also those that are freed: buffers of 32 MiB, of which a test uses a page,
 * are then most of its time. Of large ones the first LARGE_BYTES are filled here.
 */
static int perturb_by;

static void __attribute__((constructor)) begin_perturbing(void)
{
	const char *value = getenv("MALLOC_PERTURB_");

	perturb_by = value != NULL ? atoi(value) : 0;
}

static bool
fills_too_much(size_t bytes)
{
	return perturb_by != 0 && bytes >= LARGE_BYTES;
}

void *
__wrap_malloc(size_t bytes)
{
	void *block;

	if (is_refused())
		return NULL;
	if (!fills_too_much(bytes))
		return __real_malloc(bytes);
	mallopt(M_PERTURB, 0);
	block = __real_malloc(bytes);
	mallopt(M_PERTURB, perturb_by);
	return block != NULL ? memset(block, ~perturb_by, LARGE_BYTES) : NULL;
}

void *
__wrap_calloc(size_t count, size_t bytes)
{
	size_t all;
	void *block;

	if (is_refused())
		return NULL;
	if (__builtin_mul_overflow(count, bytes, &all) || !fills_too_much(all))
		return __real_calloc(count, bytes);
	mallopt(M_PERTURB, 0);
	block = __real_calloc(count, bytes);
	mallopt(M_PERTURB, perturb_by);
	return block;
}

void *
__wrap_realloc(void *old, size_t bytes)
{
	size_t old_bytes = malloc_usable_size(old), most = old_bytes + LARGE_BYTES;
	uint8_t *block;

	if (is_refused())
		return NULL;
	if (!fills_too_much(bytes) && !fills_too_much(old_bytes))
		return __real_realloc(old, bytes);
	mallopt(M_PERTURB, 0);
	block = __real_realloc(old, bytes);
	mallopt(M_PERTURB, perturb_by);
	if (block != NULL && bytes > old_bytes)
		memset(block + old_bytes, ~perturb_by, (bytes < most ? bytes : most) - old_bytes);
	return block;
}

void
__wrap_free(void *block)
{
	size_t bytes = malloc_usable_size(block);

	if (!fills_too_much(bytes)) {
		__real_free(block);
		return;
	}
	memset(block, perturb_by, LARGE_BYTES);
	mallopt(M_PERTURB, 0);
	__real_free(block);
	mallopt(M_PERTURB, perturb_by);
}

void *
__wrap_aligned_alloc(size_t alignment, size_t bytes)
{
	return is_refused() ? NULL : __real_aligned_alloc(alignment, bytes);
}

char *
__wrap_strdup(const char *text)
{
	return is_refused() ? NULL : __real_strdup(text);
}

char *
__wrap_strndup(const char *text, size_t cap)
{
	return is_refused() ? NULL : __real_strndup(text, cap);
}

FILE *
__wrap_fdopen(int fd, const char *mode)
{
	return is_refused() ? NULL : __real_fdopen(fd, mode);
}

void *
__wrap_XML_ParserCreate(const char *encoding)
{
	return is_refused() ? NULL : __real_XML_ParserCreate(encoding);
}

void *
__wrap_scols_new_table(void)
{
	return is_refused() ? NULL : __real_scols_new_table();
}

void *
__wrap_scols_table_new_column(void *table, const char *name, double width, int flags)
{
	return is_refused() ? NULL : __real_scols_table_new_column(table, name, width, flags);
}

void *
__wrap_scols_table_new_line(void *table, void *parent)
{
	return is_refused() ? NULL : __real_scols_table_new_line(table, parent);
}

int
__wrap_scols_print_table_to_string(void *table, char **text)
{
	return is_refused() ? -ENOMEM : __real_scols_print_table_to_string(table, text);
}

int
__wrap_asprintf(char **text, const char *fmt, ...)
{
	va_list ap;
	int length;

	if (is_refused())
		return -1;
	va_start(ap, fmt);
	length = vasprintf(text, fmt, ap);
	va_end(ap);
	return length;
}
