/* kvdyno_engine.h: the contract between kvdyno and a storage engine in any language with C linkage.
 *
 * An engine is a shared library `libkvdyno-NAME.so` that exports one function, kvdyno_get_engine.
 * `kvdyno-plugin` loads it. kvdyno looks for it where it looks for engines: next to its own
 * program, in KVDYNO_ENGINE_PATH, in PATH; then among the installed libraries. This runs it:
 *
 *     KVDYNO_ENGINE_PATH=$PWD kvdyno run quick --engine NAME
 *     kvdyno-plugin --library ./libkvdyno-NAME.so conformance /tmp/scratch
 *
 * `kvdyno new-engine NAME --language c` (c++, go, zig) writes an engine that passes the kit.
 *
 * RESULTS. Functions that can fail return KVDYNO_OK or one of the classes below. With an error they
 * write a message of at most KVDYNO_MESSAGE_BYTES, with its final zero, to `message`: what was
 * done, and the engine's own words. kvdyno counts errors by their class. It counts KVDYNO_IO and
 * KVDYNO_OTHER as KVDYNO_FULL if the message has the system's words for a full volume ("No space
 * left on device").
 *
 * THREADS. kvdyno calls
 *   - kvdyno_get_engine and describe once, on one thread, before anything else;
 *   - open and close on one thread, while there is no session. A process opens several databases
 *     one after another, in different directories or in the same one: a close must leave nothing
 *     behind in the process;
 *   - settle, sync, counters and events on any thread, one at a time, also while sessions work;
 *   - open_session on the thread that will use the session, and every function of a session on that
 *     thread alone. Sessions work at the same time.
 * A plugin may start threads, and must name them: a thread inherits the name of its creator, and
 * kvdyno would count it as one of its own. A plugin may call kvdyno back (`show`, `add`) only on
 * the thread of the call that passed the callback, and only until that call returns; else kvdyno
 * reports the plugin and ends the process. No C++ exception, Go panic or longjmp may leave a
 * function of this header.
 *
 * MEMORY. Memory that kvdyno passes (keys, values, options, ranges) is valid until the function
 * returns, and the plugin must not write to it. Memory that a plugin shows must be valid until the
 * callback returns. Neither side frees memory of the other. Keys and values may contain any byte. A
 * pointer to zero bytes may be null.
 *
 * A call costs an indirect call of C, and the plugin's own work. kvdyno neither allocates nor
 * copies.
 */
#ifndef KVDYNO_ENGINE_H
#define KVDYNO_ENGINE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this contract: raised with every change that affects compiled plugins. */
#define KVDYNO_ENGINE_VERSION 1

/* The size of the buffers `message` and `note`, in bytes. */
#define KVDYNO_MESSAGE_BYTES 512

/* The results of functions. */
enum {
  KVDYNO_OK = 0,
  KVDYNO_NOT_FOUND = 1,    /* get, get_for_update: the key does not exist; not an error */
  KVDYNO_UNSUPPORTED = 2,  /* the engine has no such operation */
  KVDYNO_INVALID = 3,      /* an option, key or size that the engine refuses */
  KVDYNO_FULL = 4,         /* no space on the volume, or in the engine's map */
  KVDYNO_MEMORY = 5,       /* not enough memory */
  KVDYNO_CORRUPT = 6,      /* damaged data */
  KVDYNO_CONFLICT = 7,     /* another writer interfered; kvdyno runs the transaction again */
  KVDYNO_UNAVAILABLE = 8,  /* a timeout, or a server that is gone */
  KVDYNO_IO = 9,           /* a read or write of the operating system failed */
  KVDYNO_OTHER = 10        /* anything else */
};

/* The durability classes: what a finished write survives. */
typedef enum kvdyno_durability {
  KVDYNO_NONE = 0,   /* no promise */
  KVDYNO_ASYNC = 1,  /* it survives a crash of the process: the operating system has it */
  KVDYNO_COMMIT = 2  /* it survives a power loss: it was on stable storage when the call returned */
} kvdyno_durability;

/* The kinds of options, each with the field of kvdyno_option that has the value. */
typedef enum kvdyno_kind {
  KVDYNO_BOOLEAN = 0, /* integer: 0 or 1 */
  KVDYNO_INTEGER = 1, /* integer: a number, or bytes */
  KVDYNO_NUMBER = 2,  /* number; no option has this kind yet: a fraction is a text */
  KVDYNO_TEXT = 3     /* text: a text, or a word of a choice */
} kvdyno_kind;

/* One option of the description with its value: the suite's, the preset's, or the default. */
typedef struct kvdyno_option {
  const char *name;
  kvdyno_kind kind;
  uint64_t integer;
  double number;
  const char *text;
} kvdyno_option;

/* How to open a database. */
typedef struct kvdyno_opening {
  const char *dir; /* an existing directory that belongs to this database alone */
  kvdyno_durability durability;
  const kvdyno_option *options; /* every option of the description */
  size_t option_count;
  /* The data that will be stored. */
  uint64_t records;          /* number of records after the load */
  uint64_t records_max;      /* number of records after all inserts */
  uint64_t key_bytes;        /* size of the data's longest key; keys up to key_bytes_max may come */
  uint64_t value_bytes_mean; /* mean size of the values */
  uint64_t value_bytes_max;  /* size of the longest value */
  uint64_t sessions;         /* most sessions that are open at a time */
} kvdyno_opening;

/* The receiver of a value. The plugin either calls `show` once, with memory that is valid until
 * `show` returns (a page of a map, a pinned block, memory that a lock protects). Or it sets `data`
 * and `size` to memory that is valid until the next call of this session (a buffer of the session),
 * and returns. */
typedef struct kvdyno_value {
  void (*show)(struct kvdyno_value *self, const void *data, size_t size);
  const void *data;
  size_t size;
} kvdyno_value;

/* The receiver of the values of several keys. The plugin shows each value that it finds once, with
 * the index of its key, in any order. */
typedef struct kvdyno_values {
  void (*show)(struct kvdyno_values *self, size_t index, const void *data, size_t size);
} kvdyno_values;

typedef struct kvdyno_key {
  const void *data;
  size_t size;
} kvdyno_key;

typedef struct kvdyno_record {
  const void *key;
  size_t key_size;
  const void *value;
  size_t value_size;
} kvdyno_record;

/* The receiver of the records of a scan. The plugin shows them in order, one or several at a time.
 * If `show` returns 1, the plugin ends the scan: the limit is reached, or kvdyno needs no more
 * records. Of several records, kvdyno may then have ignored the last ones. */
typedef struct kvdyno_records {
  int (*show)(struct kvdyno_records *self, const kvdyno_record *records, size_t count);
} kvdyno_records;

/* The records of a scan, and their order. Keys are compared byte by byte. */
typedef struct kvdyno_range {
  const void *from; /* scan: the first key >= from, in reverse <= from. walk: the first key > from,
                       in reverse < from. Null: the lowest key, in reverse the highest */
  size_t from_size;
  const void *until; /* ends before the first key >= until, in reverse < until. Null: no end */
  size_t until_size;
  uint64_t limit; /* most records to show: `show` returns 1 with the last one */
  int reverse; /* 1: from high keys to low ones */
} kvdyno_range;

/* One write of a batch. */
typedef struct kvdyno_write {
  int removes; /* 1: the key is removed, and there is no value */
  const void *key;
  size_t key_size;
  const void *value;
  size_t value_size;
} kvdyno_write;

/* The receiver of the engine's own statistics, by the engine's own names. */
typedef struct kvdyno_counters {
  void (*add_integer)(struct kvdyno_counters *self, const char *name, uint64_t value);
  void (*add_number)(struct kvdyno_counters *self, const char *name, double value);
  void (*add_text)(struct kvdyno_counters *self, const char *name, const char *value);
} kvdyno_counters;

typedef enum kvdyno_event_kind {
  KVDYNO_FLUSH = 0,
  KVDYNO_COMPACTION = 1,
  KVDYNO_CHECKPOINT = 2,
  KVDYNO_STALL = 3,
  KVDYNO_OTHER_EVENT = 4
} kvdyno_event_kind;

typedef enum kvdyno_edge { KVDYNO_BEGIN = 0, KVDYNO_END = 1, KVDYNO_POINT = 2 } kvdyno_edge;

/* The receiver of events, oldest first. `detail` is a text in the engine's own words, or null. */
typedef struct kvdyno_events {
  void (*add)(struct kvdyno_events *self, uint64_t unix_ns, kvdyno_event_kind kind,
              kvdyno_edge edge, const char *detail);
} kvdyno_events;

/* An engine: functions on a database and on its sessions. To kvdyno, databases and sessions are
 * opaque pointers. Functions marked `Optional` may be null; in parentheses is the capability that
 * needs the function. */
typedef struct kvdyno_engine {
  /* KVDYNO_ENGINE_VERSION. */
  uint32_t version;

  /* The description, as JSON; it lives as long as the process. `kvdyno schema engine` prints its
   * JSON schema:
   *
   *   {
   *     "name": "mine",            as in libkvdyno-mine.so
   *     "title": "Mine",
   *     "version": "1.2.3",        the version of the engine's code
   *     "build": { "compiler": "gcc 12.2" },
   *     "assertions": "node->refs > 0",   optional: the text of an assert(), which only a build with
   *                                assertions contains; kvdyno looks for it, not in quotes, in
   *                                the plugin and in libmine*
   *     "capabilities": {
   *       "durability": {          the classes that the engine has: none, async, commit
   *         "commit": { "settings": "fdatasync(2) after each write", "power_loss": "keeps" } },
   *       "delete": true, "scan_forward": true, "scan_reverse": false, "native_multiget": false,
   *       "batch": "atomic",       or together, loop
   *       "transactions": "serial", or optimistic, locking, none
   *       "atomic_read_modify_write": false, "concurrent_writers": 1, "in_memory": false,
   *       "stores_nothing": false, "key_bytes_max": null, "value_bytes_max": null, "counted": {} },
   *     "options": [ {
   *       "name": "cache_bytes", "kind": "bytes", "default": 8388608, "help": "One sentence.",
   *       "presets": [ { "preset": "tuned", "value": "50%", "reason": "Why.", "source": "Where" } ]
   *     } ],                       kinds: "boolean", "bytes", "text",
   *                                { "integer": { "min": 0, "max": 9 } }, { "choice": { "of": [] } }
   *     "planning": { "space_factor": 1.5, "write_factor": 1.5, "ram_bytes_min": 16777216 }
   *   }
   *
   * The engine lacks a capability that is left out. power_loss is keeps, loses_last, loses_all or
   * damages. In `planning`, space_factor is bytes on the volume per byte of data, write_factor is
   * bytes that a load writes per byte of data, and ram_bytes_min is the least memory. kvdyno
   * refuses unknown fields. */
  const char *(*describe)(void);

  /* Opens the database in the directory, or creates it. Refuses options that it cannot honour. */
  int (*open)(const kvdyno_opening *opening, void **database, char *message);

  /* Opens a session of the calling thread. `message` is valid as long as the session: functions of
   * the session write their error messages there. */
  int (*open_session)(void *database, char *message, void **session);
  void (*close_session)(void *session);

  /* Shows the value of a key, and returns KVDYNO_OK; or returns KVDYNO_NOT_FOUND. It sees every
   * write of any session that was acknowledged before. */
  int (*get)(void *session, const void *key, size_t key_size, kvdyno_value *value);

  /* Stores a value, in the durability class of the database. */
  int (*put)(void *session, const void *key, size_t key_size, const void *value,
             size_t value_size);

  /* Optional (delete). Removes a key; returns KVDYNO_OK also if the key does not exist. */
  int (*remove)(void *session, const void *key, size_t key_size);

  /* Optional (scan_forward, scan_reverse). Shows the records of a range. */
  int (*scan)(void *session, const kvdyno_range *range, kvdyno_records *records);

  /* Optional. Shows the next records of a walk over all records: those after `from`, the key that
   * the last call showed last. The session may keep an iterator open between calls. Without this
   * function, kvdyno calls `scan`. */
  int (*walk)(void *session, const kvdyno_range *range, kvdyno_records *records);

  /* Optional (native_multiget). Shows the values of several keys; a key that it does not show does
   * not exist. */
  int (*multiget)(void *session, const kvdyno_key *keys, size_t count, kvdyno_values *values);

  /* Optional (batch). Applies the writes in their order, as one unit. */
  int (*write)(void *session, const kvdyno_write *writes, size_t count);

  /* Optional (transactions), all three or none. From `begin` to `commit` or `rollback`, get, put,
   * remove and scan of this session belong to the transaction, and see its writes. kvdyno calls
   * `rollback` after every error within it; a `commit` that fails has ended the transaction. */
  int (*begin)(void *session);
  int (*commit)(void *session);
  void (*rollback)(void *session);

  /* Optional. Gets a value that a later write of the transaction depends on: until the transaction
   * ends nobody else changes the value, or the transaction ends with KVDYNO_CONFLICT. Without this
   * function, kvdyno calls `get`. It also calls `get` in a read-modify-write of an optimistic
   * engine, whose write conflicts. */
  int (*get_for_update)(void *session, const void *key, size_t key_size, kvdyno_value *value);

  /* Optional. Waits for background work, at most `limit_ns`. Sets `idle` to 1 if none is left, and
   * writes to `note` what it waited for. */
  int (*settle)(void *database, uint64_t limit_ns, int *idle, char *note, char *message);

  /* Makes all writes so far durable. Optional if every durability class keeps all writes at a power
   * loss, or loses all of them, without exceptions. */
  int (*sync)(void *database, char *message);

  /* Optional. Adds the engine's statistics. Must not read data: that would change the caches. */
  void (*counters)(void *database, kvdyno_counters *counters);

  /* Optional. Adds the events since the last call. */
  void (*events)(void *database, kvdyno_events *events);

  /* Closes the database. The next open must find every acknowledged write. The database is closed
   * also if this fails: the error is that of a last flush. */
  int (*close)(void *database, char *message);
} kvdyno_engine;

/* The one symbol that a plugin exports. The engine that it returns lives as long as the process. */
#define KVDYNO_EXPORT __attribute__((visibility("default")))
KVDYNO_EXPORT const kvdyno_engine *kvdyno_get_engine(void);

/* Returns the option of this name; null: the description has none. */
static inline const kvdyno_option *kvdyno_find_option(const kvdyno_opening *opening,
                                                      const char *name) {
  size_t index;
  for (index = 0; index < opening->option_count; index++) {
    if (strcmp(opening->options[index].name, name) == 0) return &opening->options[index];
  }
  return NULL;
}

/* Returns the option of this name: a text if `is_text`, else an integer or boolean. Ends the
 * process if there is none of this kind. */
static inline const kvdyno_option *kvdyno_require_option(const kvdyno_opening *opening,
                                                         const char *name, int is_text) {
  const kvdyno_option *option = kvdyno_find_option(opening, name);
  const int fits =
      option != NULL && (is_text ? option->kind == KVDYNO_TEXT
                                 : option->kind == KVDYNO_BOOLEAN || option->kind == KVDYNO_INTEGER);
  if (!fits) {
    fprintf(stderr, "error: expected an option `%s` of kind %s, found %s\nhint: `describe` lists the options\n",
            name, is_text ? "text" : "integer or boolean", option == NULL ? "none" : "another kind");
    abort();
  }
  return option;
}

/* Returns the value of an option: a number, bytes, or 0 or 1. */
static inline uint64_t kvdyno_integer(const kvdyno_opening *opening, const char *name) {
  return kvdyno_require_option(opening, name, 0)->integer;
}

/* Returns the value of an option: a text, or a word of a choice. */
static inline const char *kvdyno_text(const kvdyno_opening *opening, const char *name) {
  return kvdyno_require_option(opening, name, 1)->text;
}

#ifdef __cplusplus
}
#endif

#endif
