/*
 * horus: logging in C. The conventions of horus.h hold here, except:
 *
 * Threads   Any number of threads may call at any time.
 * Blocking  horus_log and horus_log_from write the line to stderr, too, and block while the reader
 *           of stderr is slow. They do not do so in the threads of real-time nodes, nor with the
 *           environment variable HORUS_LOG_STDERR=off. The rest of a call takes about 0.3 us: it
 *           allocates nothing and makes no system call, except two in the first call of a thread.
 * fork      A child has the log settings of its parent, and a log of its own.
 *
 * The log is a topic of the process. It keeps its last lines even after the process was killed. The
 * command `horus log` shows the lines of all processes.
 */
#ifndef HORUS_LOG_H
#define HORUS_LOG_H

#include "horus.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Levels, the most important first. */
enum {
    HORUS_LOG_ERROR = 1, /* something failed */
    HORUS_LOG_WARN = 2,  /* something is wrong, and the program goes on */
    HORUS_LOG_INFO = 3,  /* something that a user wants to know */
    HORUS_LOG_DEBUG = 4, /* something that a developer wants to know */
    HORUS_LOG_TRACE = 5  /* each step */
};

/*
 * Opens the log of this process, once, at its start. `node` is the node name of lines that are
 * logged outside of nodes; null for none. `filter` selects lines, such as "info,planner=debug";
 * null for "info". The environment variable HORUS_LOG replaces `filter`; invalid parts of the
 * variable are reported on stderr and ignored. The log stays open until the process ends.
 *
 * Errors: HORUS_E_STATE if the log is open already; HORUS_E_ARGUMENT for an invalid filter;
 * HORUS_E_NAME, HORUS_E_NO_SPACE, HORUS_E_SYSTEM; the errors of horus_namespace_open.
 */
horus_status_t horus_log_open(horus_namespace_t name_space, const char *node, const char *filter);

/*
 * Logs a text of `bytes` bytes, which need not end in a 0 and may be null if `bytes` is 0. A text
 * of more than 752 bytes is truncated, and the line says how much was left out. The line has the
 * name of the node that ticks in this thread, otherwise that of horus_log_open. If the filter
 * excludes the line, the result is HORUS_OK, too.
 *
 * Errors: HORUS_E_STATE if the log is not open; HORUS_E_ARGUMENT for an unknown level, or
 * more bytes than an object can have.
 */
horus_status_t horus_log(uint32_t level, const char *text, size_t bytes);

/*
 * Like horus_log, for a line of the node `node`, from line `line` of the source file `file`. A null
 * `node` stands for the node of horus_log, a null `file` for an unknown file.
 */
horus_status_t horus_log_from(const char *node, uint32_t level, const char *file, uint32_t line,
                              const char *text, size_t bytes);

/*
 * Like horus_log_from, for a text of which only the first `bytes` bytes are at hand. `left_out` is
 * the number of bytes that follow them in the whole text, which the line counts as left out.
 */
horus_status_t horus_log_prefix(const char *node, uint32_t level, const char *file, uint32_t line,
                                const char *text, size_t bytes, size_t left_out);

/* Returns the least important level that is logged; 0 if nothing is. It tells whether to format. */
uint32_t horus_log_level(void);

#ifdef __cplusplus
}
#endif

#endif /* HORUS_LOG_H */
