/* LMDB as a plugin, to compare with kvdyno's adapter in Rust: as many of its calls as the adapter
 * makes. An engine's author would begin like this. */
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

static int open_database(const kvdyno_opening *opening, void **opened, char *message) {
  unsigned sync = opening->durability == KVDYNO_COMMIT ? 0 : MDB_NOSYNC;
  size_t records = opening->records_max * 2 * (opening->key_bytes + opening->value_bytes_max + 64);
  database *made = calloc(1, sizeof(database));
  MDB_txn *txn = NULL;
  if (made == NULL) return result(ENOMEM, message);
  int code = mdb_env_create(&made->env);
  if (code == 0) code = mdb_env_set_mapsize(made->env, records + ((size_t)1 << 30));
  if (code == 0) code = mdb_env_set_maxreaders(made->env, (unsigned)opening->sessions + 126);
  if (code == 0) {
    code = mdb_env_open(made->env, opening->dir, sync | MDB_NORDAHEAD | MDB_NOTLS, 0644);
  }
  if (code == 0) code = mdb_txn_begin(made->env, NULL, 0, &txn);
  if (code == 0) code = mdb_dbi_open(txn, NULL, 0, &made->dbi);
  if (code == 0) code = mdb_txn_commit(txn);
  if (code == 0) {
    *opened = made;
  } else {
    mdb_env_close(made->env);
    free(made);
  }
  return result(code, message);
}

static int sync_database(void *opened, char *message) {
  return result(mdb_env_sync(((database *)opened)->env, 1), message);
}

static int close_database(void *opened, char *message) {
  database *closed = opened;
  int code = mdb_env_sync(closed->env, 1);
  mdb_env_close(closed->env);
  free(closed);
  return result(code, message);
}

static int open_session(void *opened, char *message, void **session_out) {
  session *made = calloc(1, sizeof(session));
  if (made == NULL) return result(ENOMEM, message);
  made->database = opened;
  made->message = message;
  int code = mdb_txn_begin(made->database->env, NULL, MDB_RDONLY, &made->reader);
  if (code == 0) {
    mdb_txn_reset(made->reader);
    *session_out = made;
  } else {
    free(made);
  }
  return result(code, message);
}

static void close_session(void *opened) {
  mdb_txn_abort(((session *)opened)->reader);
  free(opened);
}

static MDB_val val(const void *data, size_t size) {
  MDB_val made = {size, (void *)data};
  return made;
}

static int get(void *opened, const void *key, size_t key_size, kvdyno_value *value) {
  session *self = opened;
  MDB_txn *txn = self->writer;
  MDB_val asked = val(key, key_size), found;
  int code = 0;
  if (txn == NULL) {
    txn = self->reader;
    code = mdb_txn_renew(txn);
  }
  if (code == 0) {
    code = mdb_get(txn, self->database->dbi, &asked, &found);
    if (code == 0) value->show(value, found.mv_data, found.mv_size);
  }
  if (txn == self->reader) mdb_txn_reset(txn);
  return result(code, self->message);
}

static int change(session *self, const kvdyno_write *writes, size_t count) {
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

static int put(void *opened, const void *key, size_t key_size, const void *value,
               size_t value_size) {
  kvdyno_write write = {0, key, key_size, value, value_size};
  return change(opened, &write, 1);
}

static int remove_key(void *opened, const void *key, size_t key_size) {
  kvdyno_write write = {1, key, key_size, NULL, 0};
  return change(opened, &write, 1);
}

static int write_batch(void *opened, const kvdyno_write *writes, size_t count) {
  return change(opened, writes, count);
}

/* Forward alone. */
static int scan(void *opened, const kvdyno_range *range, kvdyno_records *records) {
  session *self = opened;
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
      kvdyno_record shown = {key.mv_data, key.mv_size, value.mv_data, value.mv_size};
      if (records->show(records, &shown, 1)) break;
      code = mdb_cursor_get(cursor, &key, &value, MDB_NEXT);
    }
    mdb_cursor_close(cursor);
  }
  if (txn == self->reader) mdb_txn_reset(txn);
  return code == MDB_NOTFOUND ? KVDYNO_OK : result(code, self->message);
}

static int begin(void *opened) {
  session *self = opened;
  return result(mdb_txn_begin(self->database->env, NULL, 0, &self->writer), self->message);
}

static int commit(void *opened) {
  session *self = opened;
  MDB_txn *ended = self->writer;
  self->writer = NULL;
  return result(mdb_txn_commit(ended), self->message);
}

static void rollback(void *opened) {
  session *self = opened;
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
