/* PerconaFT, the fractal tree of TokuDB and TokuMX, as a plugin of kvdyno. It is compiled against
 * the header of a build of yours, and linked with its library. */
#include "kvdyno_engine.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <tokudb.h>

typedef struct database {
  DB_ENV *env;
  DB *tree;
  uint32_t commit; /* flags of a commit */
} database;

typedef struct session {
  database *database;
  char *message;
  DB_TXN *txn; /* the transaction under way, or null */
} session;

#define QUOTE(macro) #macro
#define TEXT(macro) QUOTE(macro)
/* The version of Berkeley DB's interface: the header has no other. */
#define VERSION TEXT(DB_VERSION_MAJOR) "." TEXT(DB_VERSION_MINOR) "." TEXT(DB_VERSION_PATCH)
/* TokuDB's manual, the source of the tuned values: its defaults are the engine's tuning guide. */
#define MANUAL "\"docs.percona.com/percona-server/8.0/tokudb-variables.html\""
#define COUNT(name, least, most, value, help)                                       \
  "{\"name\": \"" name "\", \"kind\": {\"integer\": {\"min\": " #least ", \"max\": " #most "}}," \
  " \"default\": " #value ", \"help\": \"" help "\"}"

static const char *describe(void) {
  return "{\"name\": \"perconaft\", \"title\": \"PerconaFT\","
         " \"version\": \"" VERSION "\", \"build\": {\"compiler\": \"" __VERSION__ "\"},"
         " \"capabilities\": {\"durability\": {"
         "   \"none\": {\"settings\": \"DB_TXN_NOSYNC: the log is written when its buffer is full, and"
         " synced every fsync_log_period\", \"power_loss\": \"damages\"},"
         "   \"commit\": {\"settings\": \"DB_TXN_SYNC: fsync(2) of the log in each commit\","
         "     \"power_loss\": \"keeps\"}},"
         "  \"delete\": true, \"scan_forward\": true, \"scan_reverse\": true, \"batch\": \"atomic\","
         "  \"transactions\": \"locking\", \"atomic_read_modify_write\": true,"
         "  \"key_bytes_max\": 32768, \"value_bytes_max\": 33554432},"
         " \"options\": ["
         "  {\"name\": \"cache_size\", \"kind\": \"bytes\", \"default\": 134217728,"
         "   \"help\": \"Cache of nodes, uncompressed.\", \"presets\": [{\"preset\": \"tuned\","
         "    \"value\": \"50%\", \"reason\": \"The default of TokuDB and TokuMX.\", \"source\": " MANUAL
         "}]},"
         "  {\"name\": \"block_size\", \"kind\": \"bytes\", \"default\": 4194304,"
         "   \"help\": \"Size of a node, uncompressed.\"},"
         "  {\"name\": \"read_block_size\", \"kind\": \"bytes\", \"default\": 131072,"
         "   \"help\": \"Size of the part of a leaf that a read fetches, uncompressed.\","
         "   \"presets\": [{\"preset\": \"tuned\", \"value\": 16384,"
         "    \"reason\": \"The default of TokuDB.\", \"source\": " MANUAL "}]},"
         "  {\"name\": \"compression\", \"kind\": {\"choice\": {\"of\": [\"quicklz\", \"none\", \"zlib\","
         "   \"snappy\", \"lzma\"]}}, \"default\": \"quicklz\", \"help\": \"Compression of nodes.\"},"
         COUNT("fanout", 2, 1024, 16, "Children of a node.") ","
         COUNT("checkpointing_period", 0, 86400, 60, "Seconds between checkpoints; 0: none.") ","
         COUNT("cleaner_period", 0, 86400, 1, "Seconds between rounds of the cleaner; 0: none.") ","
         COUNT("cleaner_iterations", 0, 1000000, 5, "Nodes that the cleaner flushes in a round.") ","
         COUNT("fsync_log_period", 0, 3600000, 1000,
               "Milliseconds between syncs of the log in class none; 0: none.") ","
         COUNT("lock_timeout", 0, 3600000, 4000, "Longest wait for a lock, in milliseconds.")
         " ],"
         /* Measured with a random load of 1 M x 16/500 bytes in batches of 100, a sync each; RAM is
            half a GiB beside the cache. */
         " \"planning\": {\"space_factor\": 2.5, \"write_factor\": 28, \"ram_bytes_min\": 536870912}}";
}

static int result(int code, char *message) {
  if (code == 0) return KVDYNO_OK;
  if (code == DB_NOTFOUND) return KVDYNO_NOT_FOUND;
  snprintf(message, KVDYNO_MESSAGE_BYTES, "%s", db_strerror(code));
  switch (code) {
    case ENOSPC: return KVDYNO_FULL;
    case ENOMEM:
    case TOKUDB_OUT_OF_LOCKS: return KVDYNO_MEMORY;
    case EINVAL:
    case TOKUDB_HUGE_PAGES_ENABLED: return KVDYNO_INVALID;
    case DB_LOCK_NOTGRANTED:
    case DB_LOCK_DEADLOCK: return KVDYNO_CONFLICT;
    case TOKUDB_BAD_CHECKSUM:
    case TOKUDB_NEEDS_REPAIR:
    case DB_RUNRECOVERY: return KVDYNO_CORRUPT;
    default: return code > 0 ? KVDYNO_IO : KVDYNO_OTHER;
  }
}

static DBT dbt(const void *data, size_t size) {
  DBT item = {0};
  item.data = (void *)data;
  item.size = (uint32_t)size;
  return item;
}

static TOKU_COMPRESSION_METHOD compression(const char *name) {
  if (strcmp(name, "none") == 0) return TOKU_NO_COMPRESSION;
  if (strcmp(name, "zlib") == 0) return TOKU_ZLIB_METHOD;
  if (strcmp(name, "snappy") == 0) return TOKU_SNAPPY_METHOD;
  if (strcmp(name, "lzma") == 0) return TOKU_LZMA_METHOD;
  return TOKU_QUICKLZ_METHOD;
}

static int open_env(DB_ENV *env, const kvdyno_opening *opening) {
  const uint64_t cache = kvdyno_integer(opening, "cache_size");
  const uint32_t flags = DB_CREATE | DB_PRIVATE | DB_THREAD | DB_RECOVER | DB_INIT_LOCK |
                         DB_INIT_LOG | DB_INIT_MPOOL | DB_INIT_TXN;
  int code = env->set_cachesize(env, (uint32_t)(cache >> 30), (uint32_t)(cache & 0x3fffffff), 1);
  if (code == 0) code = env->set_lock_timeout(env, kvdyno_integer(opening, "lock_timeout"), NULL);
  if (code == 0) code = env->open(env, opening->dir, flags, 0644);
  if (code != 0) return code;
  /* Background work is set up after the open. */
  if (opening->durability == KVDYNO_NONE) {
    env->change_fsync_log_period(env, (uint32_t)kvdyno_integer(opening, "fsync_log_period"));
  }
  env->checkpointing_set_period(env, (uint32_t)kvdyno_integer(opening, "checkpointing_period"));
  env->cleaner_set_period(env, (uint32_t)kvdyno_integer(opening, "cleaner_period"));
  env->cleaner_set_iterations(env, (uint32_t)kvdyno_integer(opening, "cleaner_iterations"));
  return 0;
}

/* Settings before the open hold for a new tree; an existing tree keeps its own. */
static int open_tree(database *self, const kvdyno_opening *opening) {
  DB_TXN *txn = NULL;
  int code = db_create(&self->tree, self->env, 0);
  if (code != 0) {
    self->tree = NULL;
    return code;
  }
  DB *tree = self->tree;
  code = tree->set_pagesize(tree, (uint32_t)kvdyno_integer(opening, "block_size"));
  if (code == 0) {
    code = tree->set_readpagesize(tree, (uint32_t)kvdyno_integer(opening, "read_block_size"));
  }
  if (code == 0) code = tree->set_fanout(tree, (unsigned)kvdyno_integer(opening, "fanout"));
  if (code == 0) {
    code = tree->set_compression_method(tree, compression(kvdyno_text(opening, "compression")));
  }
  if (code == 0) code = self->env->txn_begin(self->env, NULL, &txn, 0);
  if (code != 0) return code;
  code = tree->open(tree, txn, "records", NULL, DB_BTREE, DB_CREATE | DB_THREAD, 0644);
  if (code == 0) return txn->commit(txn, DB_TXN_SYNC);
  txn->abort(txn);
  return code;
}

static int close_all(database *self) {
  int tree_code = self->tree == NULL ? 0 : self->tree->close(self->tree, 0);
  int code = self->env->close(self->env, 0);
  free(self);
  return tree_code != 0 ? tree_code : code;
}

static int open_database(const kvdyno_opening *opening, void **database_out, char *message) {
  database *self = calloc(1, sizeof(database));
  if (self == NULL) return result(ENOMEM, message);
  int code = db_env_create(&self->env, 0);
  if (code != 0) {
    free(self);
    return result(code, message);
  }
  self->commit = opening->durability == KVDYNO_COMMIT ? DB_TXN_SYNC : DB_TXN_NOSYNC;
  code = open_env(self->env, opening);
  if (code == 0) code = open_tree(self, opening);
  if (code == 0) {
    *database_out = self;
  } else {
    close_all(self);
  }
  return result(code, message);
}

static int close_database(void *handle, char *message) {
  return result(close_all(handle), message);
}

static int sync_database(void *handle, char *message) {
  DB_ENV *env = ((database *)handle)->env;
  return result(env->log_flush(env, NULL), message);
}

/* Takes a checkpoint, which writes all changed nodes. It cannot be limited, so it may take longer
 * than the limit. */
static int settle(void *handle, uint64_t limit, int *idle, char *note, char *message) {
  DB_ENV *env = ((database *)handle)->env;
  (void)limit;
  snprintf(note, KVDYNO_MESSAGE_BYTES, "a checkpoint");
  *idle = 1;
  return result(env->txn_checkpoint(env, 0, 0, 0), message);
}

static void counters(void *handle, kvdyno_counters *counters) {
  DB_ENV *env = ((database *)handle)->env;
  uint64_t most = 0, count = 0, panic = 0;
  fs_redzone_state zone;
  char words[64];
  env->get_engine_status_num_rows(env, &most);
  TOKU_ENGINE_STATUS_ROW rows = calloc(most, sizeof(TOKU_ENGINE_STATUS_ROW_S));
  if (rows == NULL) return;
  int code = env->get_engine_status(env, rows, most, &count, &zone, &panic, words, sizeof words,
                                    TOKU_ENGINE_STATUS);
  for (uint64_t index = 0; code == 0 && index < count; index++) {
    const TOKU_ENGINE_STATUS_ROW row = &rows[index];
    if (row->type == UINT64) counters->add_integer(counters, row->keyname, row->value.num);
    if (row->type == DOUBLE) counters->add_number(counters, row->keyname, row->value.dnum);
  }
  free(rows);
}

static int open_session(void *handle, char *message, void **session_out) {
  session *self = calloc(1, sizeof(session));
  if (self == NULL) return result(ENOMEM, message);
  self->database = handle;
  self->message = message;
  *session_out = self;
  return KVDYNO_OK;
}

static void close_session(void *handle) { free(handle); }

/* Sets `txn` to the transaction under way, or begins one for this read, of the newest state. */
static int begin_read(session *self, DB_TXN **txn) {
  DB_ENV *env = self->database->env;
  if (self->txn == NULL) return env->txn_begin(env, NULL, txn, DB_TXN_SNAPSHOT | DB_TXN_READ_ONLY);
  *txn = self->txn;
  return 0;
}

static int end_read(session *self, DB_TXN *txn, int code) {
  int end_code = txn == NULL || txn == self->txn ? 0 : txn->commit(txn, 0);
  return code != 0 ? code : end_code;
}

/* Shows a value where it lies in its node, which is pinned until this returns. */
static int show_value(const DBT *key, const DBT *found, void *value) {
  (void)key;
  ((kvdyno_value *)value)->show(value, found->data, found->size);
  return 0;
}

static int read_key(session *self, uint32_t flags, const void *key, size_t size,
                    kvdyno_value *value) {
  DB *tree = self->database->tree;
  DB_TXN *txn = NULL;
  DBT key_item = dbt(key, size);
  int code = begin_read(self, &txn);
  if (code == 0) code = tree->getf_set(tree, txn, flags, &key_item, show_value, value);
  return result(end_read(self, txn, code), self->message);
}

static int get(void *handle, const void *key, size_t key_size, kvdyno_value *value) {
  return read_key(handle, 0, key, key_size, value);
}

static int get_for_update(void *handle, const void *key, size_t key_size, kvdyno_value *value) {
  return read_key(handle, DB_RMW, key, key_size, value);
}

/* Applies the writes in a transaction. */
static int apply_writes(session *self, DB_TXN *txn, const kvdyno_write *writes, size_t count) {
  DB *tree = self->database->tree;
  int code = 0;
  for (size_t index = 0; code == 0 && index < count; index++) {
    const kvdyno_write *write = &writes[index];
    DBT key = dbt(write->key, write->key_size), value = dbt(write->value, write->value_size);
    code = write->removes ? tree->del(tree, txn, &key, DB_DELETE_ANY)
                          : tree->put(tree, txn, &key, &value, 0);
  }
  return code;
}

/* Writes in the transaction under way, or in one of its own, which is repeated after a deadlock. */
static int write_batch(void *handle, const kvdyno_write *writes, size_t count) {
  session *self = handle;
  DB_ENV *env = self->database->env;
  int code;
  if (self->txn != NULL) return result(apply_writes(self, self->txn, writes, count), self->message);
  do {
    DB_TXN *txn = NULL;
    code = env->txn_begin(env, NULL, &txn, 0);
    if (code != 0) break;
    code = apply_writes(self, txn, writes, count);
    if (code == 0) {
      code = txn->commit(txn, self->database->commit);
    } else {
      txn->abort(txn);
    }
  } while (code == DB_LOCK_DEADLOCK);
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

/* A scan under way. */
typedef struct scanning {
  const kvdyno_range *range;
  kvdyno_records *records;
  int ended;
} scanning;

static int is_behind(const DBT *key, const kvdyno_range *range) {
  size_t common = key->size < range->until_size ? key->size : range->until_size;
  int order = memcmp(key->data, range->until, common);
  if (order == 0) order = (key->size > range->until_size) - (key->size < range->until_size);
  return range->reverse ? order < 0 : order >= 0;
}

/* Shows a record. After TOKUDB_CURSOR_CONTINUE the next one of the node comes without a call. */
static int show_record(const DBT *key, const DBT *value, void *context) {
  scanning *scan = context;
  const kvdyno_record record = {key->data, key->size, value->data, value->size};
  scan->ended = (scan->range->until != NULL && is_behind(key, scan->range)) ||
                scan->records->show(scan->records, &record, 1);
  return scan->ended ? 0 : TOKUDB_CURSOR_CONTINUE;
}

static int seek(DBC *cursor, const kvdyno_range *range, scanning *scan) {
  DBT from = dbt(range->from, range->from_size);
  if (range->from == NULL) {
    return (range->reverse ? cursor->c_getf_last : cursor->c_getf_first)(cursor, 0, show_record, scan);
  }
  return (range->reverse ? cursor->c_getf_set_range_reverse : cursor->c_getf_set_range)(
      cursor, 0, &from, show_record, scan);
}

/* Sets the ends of the range, so that the cursor may read ahead up to the last one. */
static int set_bounds(DB *tree, DBC *cursor, const kvdyno_range *range) {
  DBT from = dbt(range->from, range->from_size), until = dbt(range->until, range->until_size);
  const DBT *first = range->from == NULL ? tree->dbt_neg_infty() : &from;
  const DBT *last = &until;
  if (range->until == NULL) return 0;
  if (range->reverse) {
    last = range->from == NULL ? tree->dbt_pos_infty() : &from;
    first = &until;
  }
  return cursor->c_set_bounds(cursor, first, last, false, 0);
}

static int scan(void *handle, const kvdyno_range *range, kvdyno_records *records) {
  session *self = handle;
  DB *tree = self->database->tree;
  DB_TXN *txn = NULL;
  DBC *cursor = NULL;
  scanning state = {range, records, 0};
  int code = begin_read(self, &txn);
  if (code == 0) code = tree->cursor(tree, txn, &cursor, 0);
  if (code == 0) code = set_bounds(tree, cursor, range);
  if (code == 0) code = seek(cursor, range, &state);
  while (!state.ended && (code == 0 || code == TOKUDB_CURSOR_CONTINUE)) {
    code = (range->reverse ? cursor->c_getf_prev : cursor->c_getf_next)(cursor, 0, show_record,
                                                                       &state);
  }
  if (code == TOKUDB_CURSOR_CONTINUE || code == DB_NOTFOUND) code = 0;
  if (cursor != NULL) cursor->c_close(cursor);
  return result(end_read(self, txn, code), self->message);
}

/* Begins a transaction whose reads lock what they read until its end. */
static int begin(void *handle) {
  session *self = handle;
  DB_ENV *env = self->database->env;
  return result(env->txn_begin(env, NULL, &self->txn, DB_SERIALIZABLE), self->message);
}

static int commit(void *handle) {
  session *self = handle;
  DB_TXN *txn = self->txn;
  self->txn = NULL;
  return result(txn->commit(txn, self->database->commit), self->message);
}

static void rollback(void *handle) {
  session *self = handle;
  self->txn->abort(self->txn);
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
      .get_for_update = get_for_update,
      .settle = settle,
      .sync = sync_database,
      .counters = counters,
      .close = close_database,
  };
  return &engine;
}
