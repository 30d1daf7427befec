/* LMDB as a plugin, to compare with kvdyno's adapter in Rust: it makes as many calls of LMDB as the
 * adapter. An engine's author would begin like this. */
#include "kvdyno_engine.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <lmdb.h>

typedef struct database {
  MDB_env *env;
  MDB_dbi dbi;
} database;

typedef struct session {
  database *database;
  char *message;
  MDB_txn *reader; /* reset between calls */
  MDB_txn *writer; /* the transaction under way, or null */
} session;

static const char *describe(void) {
  return "{\"name\": \"lmdb-c\", \"title\": \"LMDB by the header\", \"version\": \"0.9\","
         "\"capabilities\": {\"durability\": {"
         " \"async\": {\"settings\": \"MDB_NOSYNC\", \"power_loss\": \"damages\"},"
         " \"commit\": {\"settings\": \"fdatasync in each commit\", \"power_loss\": \"keeps\"}},"
         " \"delete\": true, \"scan_forward\": true, \"batch\": \"atomic\","
         " \"transactions\": \"serial\", \"atomic_read_modify_write\": true,"
         " \"concurrent_writers\": 1, \"key_bytes_max\": 511},"
         "\"planning\": {\"space_factor\": 2.1, \"write_factor\": 10, \"ram_bytes_min\": 1048576}}";
}

static int result(int code, char *message) {
  if (code == 0) return KVDYNO_OK;
  if (code == MDB_NOTFOUND) return KVDYNO_NOT_FOUND;
  snprintf(message, KVDYNO_MESSAGE_BYTES, "%s", mdb_strerror(code));
  switch (code) {
    case MDB_MAP_FULL:
    case ENOSPC: return KVDYNO_FULL;
    case ENOMEM: return KVDYNO_MEMORY;
    case MDB_BAD_VALSIZE:
    case EINVAL: return KVDYNO_INVALID;
    case MDB_CORRUPTED:
    case MDB_PAGE_NOTFOUND: return KVDYNO_CORRUPT;
    default: return code > 0 ? KVDYNO_IO : KVDYNO_OTHER;
  }
}

static int open_database(const kvdyno_opening *opening, void **database_out, char *message) {
  unsigned sync = opening->durability == KVDYNO_COMMIT ? 0 : MDB_NOSYNC;
  size_t records = opening->records_max * 2 * (opening->key_bytes + opening->value_bytes_max + 64);
  database *self = calloc(1, sizeof(database));
  MDB_txn *txn = NULL;
  if (self == NULL) return result(ENOMEM, message);
  int code = mdb_env_create(&self->env);
  if (code == 0) code = mdb_env_set_mapsize(self->env, records + ((size_t)1 << 30));
  if (code == 0) code = mdb_env_set_maxreaders(self->env, (unsigned)opening->sessions + 126);
  if (code == 0) {
    code = mdb_env_open(self->env, opening->dir, sync | MDB_NORDAHEAD | MDB_NOTLS, 0644);
  }
  if (code == 0) code = mdb_txn_begin(self->env, NULL, 0, &txn);
  if (code == 0) code = mdb_dbi_open(txn, NULL, 0, &self->dbi);
  if (code == 0) code = mdb_txn_commit(txn);
  if (code == 0) {
    *database_out = self;
  } else {
    mdb_env_close(self->env);
    free(self);
  }
  return result(code, message);
}

static int sync_database(void *handle, char *message) {
  return result(mdb_env_sync(((database *)handle)->env, 1), message);
}

static int close_database(void *handle, char *message) {
  database *self = handle;
  int code = mdb_env_sync(self->env, 1);
  mdb_env_close(self->env);
  free(self);
  return result(code, message);
}

static int open_session(void *handle, char *message, void **session_out) {
  session *self = calloc(1, sizeof(session));
  if (self == NULL) return result(ENOMEM, message);
  self->database = handle;
  self->message = message;
  int code = mdb_txn_begin(self->database->env, NULL, MDB_RDONLY, &self->reader);
  if (code == 0) {
    mdb_txn_reset(self->reader);
    *session_out = self;
  } else {
    free(self);
  }
  return result(code, message);
}

static void close_session(void *handle) {
  mdb_txn_abort(((session *)handle)->reader);
  free(handle);
}

static MDB_val val(const void *data, size_t size) {
  MDB_val item = {size, (void *)data};
  return item;
}

static int get(void *handle, const void *key, size_t key_size, kvdyno_value *value) {
  session *self = handle;
  MDB_txn *txn = self->writer;
  MDB_val key_val = val(key, key_size), found;
  int code = 0;
  if (txn == NULL) {
    txn = self->reader;
    code = mdb_txn_renew(txn);
  }
  if (code == 0) {
    code = mdb_get(txn, self->database->dbi, &key_val, &found);
    if (code == 0) value->show(value, found.mv_data, found.mv_size);
  }
  if (txn == self->reader) mdb_txn_reset(txn);
  return result(code, self->message);
}

static int apply_writes(session *self, const kvdyno_write *writes, size_t count) {
  MDB_txn *txn = self->writer;
  MDB_dbi dbi = self->database->dbi;
  int code = txn != NULL ? 0 : mdb_txn_begin(self->database->env, NULL, 0, &txn);
  if (code != 0) return result(code, self->message);
  for (size_t index = 0; code == 0 && index < count; index++) {
    MDB_val key = val(writes[index].key, writes[index].key_size);
    MDB_val value = val(writes[index].value, writes[index].value_size);
    if (writes[index].removes) {
      code = mdb_del(txn, dbi, &key, NULL);
      if (code == MDB_NOTFOUND) code = 0;
    } else {
      code = mdb_put(txn, dbi, &key, &value, 0);
    }
  }
  if (txn == self->writer) return result(code, self->message);
  if (code == 0) {
    code = mdb_txn_commit(txn);
  } else {
    mdb_txn_abort(txn);
  }
  return result(code, self->message);
}

static int put(void *handle, const void *key, size_t key_size, const void *value,
               size_t value_size) {
  kvdyno_write write = {0, key, key_size, value, value_size};
  return apply_writes(handle, &write, 1);
}

static int remove_key(void *handle, const void *key, size_t key_size) {
  kvdyno_write write = {1, key, key_size, NULL, 0};
  return apply_writes(handle, &write, 1);
}

static int write_batch(void *handle, const kvdyno_write *writes, size_t count) {
  return apply_writes(handle, writes, count);
}

/* Scans forward alone: the description claims no other direction. */
static int scan(void *handle, const kvdyno_range *range, kvdyno_records *records) {
  session *self = handle;
  MDB_txn *txn = self->writer;
  MDB_val key = val(range->from, range->from_size), value;
  MDB_cursor *cursor;
  int code = 0;
  if (txn == NULL) {
    txn = self->reader;
    code = mdb_txn_renew(txn);
  }
  if (code == 0) code = mdb_cursor_open(txn, self->database->dbi, &cursor);
  if (code == 0) {
    code = mdb_cursor_get(cursor, &key, &value, range->from_size > 0 ? MDB_SET_RANGE : MDB_FIRST);
    MDB_val until = val(range->until, range->until_size);
    while (code == 0) {
      if (range->until != NULL && mdb_cmp(txn, self->database->dbi, &key, &until) >= 0) break;
      kvdyno_record record = {key.mv_data, key.mv_size, value.mv_data, value.mv_size};
      if (records->show(records, &record, 1)) break;
      code = mdb_cursor_get(cursor, &key, &value, MDB_NEXT);
    }
    mdb_cursor_close(cursor);
  }
  if (txn == self->reader) mdb_txn_reset(txn);
  return code == MDB_NOTFOUND ? KVDYNO_OK : result(code, self->message);
}

static int begin(void *handle) {
  session *self = handle;
  return result(mdb_txn_begin(self->database->env, NULL, 0, &self->writer), self->message);
}

static int commit(void *handle) {
  session *self = handle;
  MDB_txn *txn = self->writer;
  self->writer = NULL;
  return result(mdb_txn_commit(txn), self->message);
}

static void rollback(void *handle) {
  session *self = handle;
  mdb_txn_abort(self->writer);
  self->writer = NULL;
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
      .sync = sync_database,
      .close = close_database,
  };
  return &engine;
}
