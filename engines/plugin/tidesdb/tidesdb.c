/* TidesDB as a plugin of kvdyno: its description, and the functions of kvdyno_engine.h. `kvdyno
 * engines get tidesdb` compiles it with the sources that the engine's authors publish. */
#include "kvdyno_engine.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <tidesdb/db.h>
#include <tidesdb/tidesdb_version.h>

typedef struct database {
  tidesdb_t *db;
  tidesdb_column_family_t *family;
  kvdyno_durability durability;
} database;

typedef struct session {
  database *database;
  char *message;
  tidesdb_txn_t *reader; /* sees the newest state at each call */
  tidesdb_txn_t *writer; /* for writes outside of a transaction */
  tidesdb_txn_t *txn;    /* the transaction under way, or null */
} session;

#define BYTES(name, value, help) \
  "{\"name\": \"" name "\", \"kind\": \"bytes\", \"default\": " #value ", \"help\": \"" help "\"}"
#define COUNT(name, least, most, value, help)                                       \
  "{\"name\": \"" name "\", \"kind\": {\"integer\": {\"min\": " #least ", \"max\": " #most "}}," \
  " \"default\": " #value ", \"help\": \"" help "\"}"

static const char *describe(void) {
  return "{\"name\": \"tidesdb\", \"title\": \"TidesDB\","
         " \"version\": \"" TIDESDB_VERSION "\", \"build\": {\"compiler\": \"" __VERSION__ "\"},"
         " \"capabilities\": {\"durability\": {"
         "   \"none\": {\"settings\": \"TDB_SYNC_NONE: the log is buffered in the process\","
         "     \"power_loss\": \"loses_last\"},"
         "   \"async\": {\"settings\": \"TDB_SYNC_INTERVAL: the log is written in each commit, and synced"
         " every memtable_sync_interval_us\", \"power_loss\": \"loses_last\"},"
         "   \"commit\": {\"settings\": \"TDB_SYNC_FULL: the log is synced in each commit\","
         "     \"power_loss\": \"keeps\"}},"
         "  \"delete\": true, \"scan_forward\": true, \"scan_reverse\": true, \"batch\": \"atomic\","
         "  \"transactions\": \"optimistic\", \"atomic_read_modify_write\": true},"
         " \"options\": [" BYTES("block_cache_size", 67108864, "Cache of blocks of the key logs.") ","
         "  {\"name\": \"memtable_write_buffer_size\", \"kind\": \"bytes\", \"default\": 67108864,"
         "   \"help\": \"Size of a memory table.\", \"presets\": [{\"preset\": \"tuned\","
         "    \"value\": \"4%\", \"reason\": \"Up to 18 of this size are in memory: 16 that wait, and one"
         " of twice the size.\", \"source\": \"tidesdb.com/reference/tuning, The mental model\"}]},"
         BYTES("value_separation_threshold", 1024,
               "Values of this size and more go to the value log; 0: the default.") ","
         BYTES("vlog_segment_size", 268435456, "Size of a segment of the value log.") ","
         BYTES("btree_klog_block_size", 4096, "Size of a node of a key log.") ","
         COUNT("num_flush_threads", 1, 64, 2, "Most flushes at a time.") ","
         COUNT("num_compaction_threads", 1, 64, 2, "Most compactions at a time.") ","
         COUNT("max_open_sstables", 16, 1000000, 1024, "Most open tables.") ","
         COUNT("level_size_ratio", 2, 100, 10, "How much larger each level is.") ","
         COUNT("l1_file_count_trigger", 1, 1000, 4, "Tables of level 1 that start a compaction.") ","
         COUNT("memtable_l0_queue_stall_threshold", 0, 1000, 16,
               "Full memory tables at which writes wait; 0: never.") ","
         COUNT("memtable_sync_interval_us", 1, 3600000000, 1000000,
               "Microseconds between syncs of the log in class async.") ","
         "  {\"name\": \"enable_bloom_filter\", \"kind\": \"boolean\", \"default\": true,"
         "   \"help\": \"Bloom filters, with 1% of wrong hits.\"},"
         "  {\"name\": \"compression\", \"kind\": {\"choice\": {\"of\": [\"none\", \"lz4\", \"zstd\","
         "   \"snappy\"]}}, \"default\": \"none\", \"help\": \"Compression of nodes and separated values.\"}"
         " ], \"planning\": {\"space_factor\": 3, \"write_factor\": 8, \"ram_bytes_min\": 268435456}}";
}

static int result(int code, char *message) {
  if (code == TDB_SUCCESS) return KVDYNO_OK;
  if (code == TDB_ERR_NOT_FOUND) return KVDYNO_NOT_FOUND;
  snprintf(message, KVDYNO_MESSAGE_BYTES, "%s", tidesdb_strerror(code));
  switch (code) {
    case TDB_ERR_INVALID_ARGS:
    case TDB_ERR_TOO_LARGE: return KVDYNO_INVALID;
    case TDB_ERR_NO_SPACE: return KVDYNO_FULL;
    case TDB_ERR_MEMORY:
    case TDB_ERR_MEMORY_LIMIT: return KVDYNO_MEMORY;
    case TDB_ERR_CORRUPTION: return KVDYNO_CORRUPT;
    case TDB_ERR_CONFLICT: return KVDYNO_CONFLICT;
    case TDB_ERR_LOCKED: return KVDYNO_UNAVAILABLE;
    case TDB_ERR_IO: return KVDYNO_IO;
    default: return KVDYNO_OTHER;
  }
}

static void pause_ms(long ms) {
  const struct timespec time = {ms / 1000, ms % 1000 * 1000000};
  nanosleep(&time, NULL);
}

static uint64_t now_ns(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static int compression(const char *name) {
  if (strcmp(name, "lz4") == 0) return TDB_COMPRESS_LZ4;
  if (strcmp(name, "zstd") == 0) return TDB_COMPRESS_ZSTD;
  return strcmp(name, "snappy") == 0 ? TDB_COMPRESS_SNAPPY : TDB_COMPRESS_NONE;
}

static int open_family(database *self, const kvdyno_opening *opening) {
  tidesdb_column_family_config_t config = tidesdb_default_column_family_config();
  const int method = compression(kvdyno_text(opening, "compression"));
  config.btree_klog_block_size = kvdyno_integer(opening, "btree_klog_block_size");
  config.level_size_ratio = kvdyno_integer(opening, "level_size_ratio");
  config.l1_file_count_trigger = (int)kvdyno_integer(opening, "l1_file_count_trigger");
  config.enable_bloom_filter = (int)kvdyno_integer(opening, "enable_bloom_filter");
  if (method != TDB_COMPRESS_NONE) config.encoding_pipeline[config.encoding_count++] = (uint8_t)method;
  self->family = tidesdb_get_column_family(self->db, "records");
  if (self->family != NULL) return TDB_SUCCESS;
  int code = tidesdb_create_column_family(self->db, "records", &config);
  if (code == TDB_SUCCESS) self->family = tidesdb_get_column_family(self->db, "records");
  return code;
}

static int open_database(const kvdyno_opening *opening, void **database_out, char *message) {
  tidesdb_config_t config = tidesdb_default_config();
  database *self = calloc(1, sizeof(database));
  if (self == NULL) return result(TDB_ERR_MEMORY, message);
  if (!tidesdb_compression_available(compression(kvdyno_text(opening, "compression")))) {
    free(self);
    snprintf(message, KVDYNO_MESSAGE_BYTES, "expected a compression that this build has, found `%s`",
             kvdyno_text(opening, "compression"));
    return KVDYNO_INVALID;
  }
  self->durability = opening->durability;
  config.db_path = (char *)opening->dir;
  config.log_level = TDB_LOG_ERROR;
  config.num_flush_threads = (int)kvdyno_integer(opening, "num_flush_threads");
  config.num_compaction_threads = (int)kvdyno_integer(opening, "num_compaction_threads");
  config.block_cache_size = kvdyno_integer(opening, "block_cache_size");
  config.max_open_sstables = kvdyno_integer(opening, "max_open_sstables");
  config.memtable_write_buffer_size = kvdyno_integer(opening, "memtable_write_buffer_size");
  config.memtable_sync_interval_us = kvdyno_integer(opening, "memtable_sync_interval_us");
  config.value_separation_threshold = kvdyno_integer(opening, "value_separation_threshold");
  config.vlog_segment_size = kvdyno_integer(opening, "vlog_segment_size");
  config.memtable_l0_queue_stall_threshold =
      (int)kvdyno_integer(opening, "memtable_l0_queue_stall_threshold");
  config.memtable_sync_mode = opening->durability == KVDYNO_NONE    ? TDB_SYNC_NONE
                              : opening->durability == KVDYNO_ASYNC ? TDB_SYNC_INTERVAL
                                                                    : TDB_SYNC_FULL;
  int code = tidesdb_open(&config, &self->db);
  if (code == TDB_SUCCESS) {
    code = open_family(self, opening);
    if (code != TDB_SUCCESS) tidesdb_close(self->db);
  }
  if (code == TDB_SUCCESS) {
    *database_out = self;
  } else {
    free(self);
  }
  return result(code, message);
}

static int close_database(void *handle, char *message) {
  database *self = handle;
  int code = tidesdb_close(self->db);
  free(self);
  return result(code, message);
}

/* Takes a checkpoint, again and again while something else holds the lock. */
static int sync_database(void *handle, char *message) {
  database *self = handle;
  int code = TDB_SUCCESS;
  if (self->durability == KVDYNO_COMMIT) return KVDYNO_OK;
  while ((code = tidesdb_checkpoint(self->db)) == TDB_ERR_LOCKED) pause_ms(1);
  return result(code, message);
}

static int is_idle(database *self) {
  tidesdb_db_stats_t stats;
  return tidesdb_get_db_stats(self->db, &stats) == TDB_SUCCESS &&
         stats.immutable_memtable_count == 0 && stats.compaction_pending_count == 0 &&
         !stats.is_flushing && !tidesdb_is_compacting(self->family);
}

static int settle(void *handle, uint64_t limit, int *idle, char *note, char *message) {
  database *self = handle;
  const uint64_t start = now_ns();
  int code, looks = 0;
  snprintf(note, KVDYNO_MESSAGE_BYTES, "memory table flushed, no compaction in progress");
  while ((code = tidesdb_flush_memtable(self->db)) == TDB_ERR_LOCKED && now_ns() - start < limit) {
    pause_ms(10);
  }
  while (code == TDB_SUCCESS && looks < 3 && now_ns() - start < limit) {
    looks = is_idle(self) ? looks + 1 : 0;
    pause_ms(10);
  }
  *idle = looks == 3;
  return code == TDB_ERR_LOCKED ? KVDYNO_OK : result(code, message);
}

static void counters(void *handle, kvdyno_counters *counters) {
  database *self = handle;
  tidesdb_db_stats_t db;
  tidesdb_cache_stats_t cache;
  if (tidesdb_get_db_stats(self->db, &db) == TDB_SUCCESS) {
#define ADD(name) counters->add_integer(counters, #name, (uint64_t)db.name)
    ADD(flush_count), ADD(compaction_count), ADD(flush_bytes_written);
    ADD(compaction_bytes_written), ADD(compaction_bytes_read), ADD(wal_bytes_written);
    ADD(vlog_bytes_written), ADD(user_bytes_written), ADD(txn_commits), ADD(txn_conflicts);
    ADD(total_sstable_count), ADD(memtable_bytes), ADD(immutable_memtable_count);
    ADD(writes_throttled), ADD(writes_blocked), ADD(write_stall_us);
#undef ADD
  }
  if (tidesdb_get_cache_stats(self->db, &cache) == TDB_SUCCESS) {
    counters->add_integer(counters, "cache.hits", cache.hits);
    counters->add_integer(counters, "cache.misses", cache.misses);
    counters->add_integer(counters, "cache.total_bytes", cache.total_bytes);
  }
}

static void close_session(void *handle) {
  session *self = handle;
  if (self->txn != NULL) tidesdb_txn_free(self->txn);
  tidesdb_txn_free(self->reader);
  tidesdb_txn_free(self->writer);
  free(self);
}

static int open_session(void *handle, char *message, void **session_out) {
  session *self = calloc(1, sizeof(session));
  if (self == NULL) return result(TDB_ERR_MEMORY, message);
  self->database = handle;
  self->message = message;
  tidesdb_t *db = self->database->db;
  int code = tidesdb_txn_begin_with_isolation(db, TDB_ISOLATION_READ_COMMITTED, &self->reader);
  if (code == TDB_SUCCESS) {
    code = tidesdb_txn_begin_with_isolation(db, TDB_ISOLATION_READ_COMMITTED, &self->writer);
  }
  if (code == TDB_SUCCESS) {
    *session_out = self;
  } else {
    close_session(self);
  }
  return result(code, message);
}

static int get(void *handle, const void *key, size_t key_size, kvdyno_value *value) {
  session *self = handle;
  tidesdb_txn_t *txn = self->txn != NULL ? self->txn : self->reader;
  uint8_t *found = NULL;
  size_t size = 0;
  int code;
  while ((code = tidesdb_txn_get(txn, self->database->family, key, key_size, &found, &size)) ==
         TDB_ERR_LOCKED) {
    pause_ms(1);
  }
  if (code != TDB_SUCCESS) return result(code, self->message);
  value->show(value, found, size);
  tidesdb_free(found);
  return KVDYNO_OK;
}

/* Applies the writes in a transaction. */
static int apply_writes(session *self, tidesdb_txn_t *txn, const kvdyno_write *writes,
                        size_t count) {
  tidesdb_column_family_t *family = self->database->family;
  int code = TDB_SUCCESS;
  for (size_t index = 0; code == TDB_SUCCESS && index < count; index++) {
    const kvdyno_write *write = &writes[index];
    code = write->removes
               ? tidesdb_txn_delete(txn, family, write->key, write->key_size)
               : tidesdb_txn_put(txn, family, write->key, write->key_size,
                                 write->value == NULL ? (const uint8_t *)"" : write->value,
                                 write->value_size, 0);
  }
  return code;
}

/* Writes in the transaction under way, or in one of its own. */
static int write_batch(void *handle, const kvdyno_write *writes, size_t count) {
  session *self = handle;
  int code;
  if (self->txn != NULL) {
    return result(apply_writes(self, self->txn, writes, count), self->message);
  }
  do {
    code = apply_writes(self, self->writer, writes, count);
    if (code == TDB_SUCCESS) code = tidesdb_txn_commit(self->writer);
    int reset = tidesdb_txn_reset(self->writer, TDB_ISOLATION_READ_COMMITTED);
    if (code == TDB_SUCCESS) code = reset;
  } while (code == TDB_ERR_LOCKED);
  return result(code, self->message);
}

static int put(void *handle, const void *key, size_t key_size, const void *value,
               size_t value_size) {
  kvdyno_write write = {0, key, key_size, value, value_size};
  return write_batch(handle, &write, 1);
}

static int remove_key(void *handle, const void *key, size_t key_size) {
  kvdyno_write write = {1, key, key_size, NULL, 0};
  return write_batch(handle, &write, 1);
}

static int compare(const void *one, size_t one_size, const void *other, size_t other_size) {
  const int order = memcmp(one, other, one_size < other_size ? one_size : other_size);
  return order != 0 ? order : (one_size > other_size) - (one_size < other_size);
}

static int seek(tidesdb_iter_t *records, const kvdyno_range *range) {
  if (range->from == NULL) {
    return range->reverse ? tidesdb_iter_seek_to_last(records) : tidesdb_iter_seek_to_first(records);
  }
  return range->reverse ? tidesdb_iter_seek_for_prev(records, range->from, range->from_size)
                        : tidesdb_iter_seek(records, range->from, range->from_size);
}

/* Opens an iterator; with both ends of the range, it leaves out tables outside of the range. */
static int open_records(tidesdb_txn_t *txn, tidesdb_column_family_t *family,
                        const kvdyno_range *range, tidesdb_iter_t **records) {
  if (range->from == NULL || range->until == NULL) return tidesdb_iter_new(txn, family, records);
  return range->reverse
             ? tidesdb_iter_new_range(txn, family, range->until, range->until_size, range->from,
                                      range->from_size, records)
             : tidesdb_iter_new_range(txn, family, range->from, range->from_size, range->until,
                                      range->until_size, records);
}

/* Shows the iterator's record; sets `ended` if the scan ends there. */
static int show(tidesdb_iter_t *records, const kvdyno_range *range, kvdyno_records *sink,
                int *ended) {
  uint8_t *key = NULL, *value = NULL;
  size_t key_size = 0, size = 0;
  int code = tidesdb_iter_key_value(records, &key, &key_size, &value, &size);
  if (code != TDB_SUCCESS) return code;
  if (range->until != NULL) {
    const int order = compare(key, key_size, range->until, range->until_size);
    *ended = range->reverse ? order < 0 : order >= 0;
  }
  if (!*ended) {
    const kvdyno_record record = {key, key_size, value, size};
    *ended = sink->show(sink, &record, 1);
  }
  tidesdb_free(key);
  tidesdb_free(value);
  return TDB_SUCCESS;
}

static int scan(void *handle, const kvdyno_range *range, kvdyno_records *sink) {
  session *self = handle;
  tidesdb_txn_t *txn = self->txn != NULL ? self->txn : self->reader;
  tidesdb_iter_t *records = NULL;
  int code, ended = 0;
  while ((code = open_records(txn, self->database->family, range, &records)) == TDB_ERR_LOCKED) {
    pause_ms(1);
  }
  if (code != TDB_SUCCESS) return result(code, self->message);
  code = seek(records, range);
  while (code == TDB_SUCCESS) {
    code = show(records, range, sink, &ended);
    if (code != TDB_SUCCESS || ended) break;
    code = range->reverse ? tidesdb_iter_prev(records) : tidesdb_iter_next(records);
  }
  tidesdb_iter_free(records);
  return code == TDB_ERR_NOT_FOUND ? KVDYNO_OK : result(code, self->message);
}

/* Begins a transaction; of two that wrote the same key, the first wins. */
static int begin(void *handle) {
  session *self = handle;
  return result(tidesdb_txn_begin_with_isolation(self->database->db, TDB_ISOLATION_SNAPSHOT,
                                                 &self->txn),
                self->message);
}

static int commit(void *handle) {
  session *self = handle;
  int code;
  while ((code = tidesdb_txn_commit(self->txn)) == TDB_ERR_LOCKED) pause_ms(1);
  tidesdb_txn_free(self->txn);
  self->txn = NULL;
  return result(code, self->message);
}

static void rollback(void *handle) {
  session *self = handle;
  tidesdb_txn_rollback(self->txn);
  tidesdb_txn_free(self->txn);
  self->txn = NULL;
}

const kvdyno_engine *kvdyno_get_engine(void) {
  static const kvdyno_engine engine = {
      .version = KVDYNO_ENGINE_VERSION,
      .describe = describe,
      .open = open_database,
      .open_session = open_session,
      .close_session = close_session,
      .get = get,
      .put = put,
      .remove = remove_key,
      .scan = scan,
      .write = write_batch,
      .begin = begin,
      .commit = commit,
      .rollback = rollback,
      .settle = settle,
      .sync = sync_database,
      .counters = counters,
      .close = close_database,
  };
  return &engine;
}
