// What kvdyno's worker calls of LevelDB, as plain functions.
//
// LevelDB's own C API returns every value in memory from malloc. These functions call its C++ API
// with slices and strings that a session keeps. Compiled against the header of the library that it
// is linked with, by `kvdyno engines get` and `kvdyno engines build`. Nothing is decided here.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include <leveldb/cache.h>
#include <leveldb/db.h>
#include <leveldb/filter_policy.h>
#include <leveldb/iterator.h>
#include <leveldb/options.h>
#include <leveldb/status.h>
#include <leveldb/write_batch.h>

using leveldb::Slice;
using leveldb::Status;

#define API extern "C" __attribute__((visibility("default")))

namespace {

// The message of this thread's last failing call.
thread_local std::string last_error;

// In the order of the worker's `Code`.
enum Code { kOk, kNotFound, kCorruption, kNotSupported, kInvalid, kIo, kOther };

Code CodeOf(const Status& status) {
  if (status.ok()) return kOk;
  if (status.IsNotFound()) return kNotFound;
  last_error = status.ToString();
  if (status.IsCorruption()) return kCorruption;
  if (status.IsNotSupportedError()) return kNotSupported;
  if (status.IsInvalidArgument()) return kInvalid;
  return status.IsIOError() ? kIo : kOther;
}

struct Settings {
  uint64_t write_buffer_size;
  uint64_t max_file_size;
  uint64_t block_cache;
  uint64_t block_size;
  uint64_t block_restart_interval;
  uint64_t max_open_files;
  uint64_t bloom_bits;
  uint64_t compression;
  uint64_t paranoid_checks;
};

struct Database {
  // The database goes before what it uses.
  std::unique_ptr<leveldb::Cache> cache;
  std::unique_ptr<const leveldb::FilterPolicy> filter;
  std::unique_ptr<leveldb::DB> db;
};

struct Session {
  leveldb::DB* db;
  leveldb::ReadOptions read;
  leveldb::WriteOptions write;
  // Both keep their memory from call to call.
  std::string value;
  leveldb::WriteBatch batch;
};

}  // namespace

// Raised with every change of a function below.
API int kvdyno_leveldb_shim() { return 2; }

API void kvdyno_leveldb_version(int* major, int* minor) {
  *major = leveldb::kMajorVersion;
  *minor = leveldb::kMinorVersion;
}

API const char* kvdyno_leveldb_last_error() { return last_error.c_str(); }

API int kvdyno_leveldb_open(const char* folder, const Settings* settings, Database** opened) {
  auto database = std::make_unique<Database>();
  leveldb::Options options;
  options.create_if_missing = true;
  options.paranoid_checks = settings->paranoid_checks != 0;
  options.write_buffer_size = settings->write_buffer_size;
  options.max_file_size = settings->max_file_size;
  options.block_size = settings->block_size;
  options.block_restart_interval = static_cast<int>(settings->block_restart_interval);
  options.max_open_files = static_cast<int>(settings->max_open_files);
  options.compression =
      settings->compression != 0 ? leveldb::kSnappyCompression : leveldb::kNoCompression;
  database->cache.reset(leveldb::NewLRUCache(settings->block_cache));
  options.block_cache = database->cache.get();
  if (settings->bloom_bits > 0) {
    database->filter.reset(leveldb::NewBloomFilterPolicy(static_cast<int>(settings->bloom_bits)));
    options.filter_policy = database->filter.get();
  }
  leveldb::DB* db = nullptr;
  const Status status = leveldb::DB::Open(options, folder, &db);
  database->db.reset(db);
  if (status.ok()) *opened = database.release();
  return CodeOf(status);
}

API void kvdyno_leveldb_close(Database* database) { delete database; }

API Session* kvdyno_leveldb_open_session(Database* database, int sync) {
  auto* session = new Session{database->db.get(), {}, {}, {}, {}};
  session->write.sync = sync != 0;
  return session;
}

API void kvdyno_leveldb_close_session(Session* session) { delete session; }

// The value lies in the session until its next get.
API int kvdyno_leveldb_get(Session* session, const char* key, size_t key_size, const char** value,
                           size_t* size) {
  const Status status = session->db->Get(session->read, Slice(key, key_size), &session->value);
  *value = session->value.data();
  *size = session->value.size();
  return CodeOf(status);
}

API int kvdyno_leveldb_put(Session* session, const char* key, size_t key_size, const char* value,
                           size_t size) {
  return CodeOf(session->db->Put(session->write, Slice(key, key_size), Slice(value, size)));
}

API int kvdyno_leveldb_remove(Session* session, const char* key, size_t key_size) {
  return CodeOf(session->db->Delete(session->write, Slice(key, key_size)));
}

API void kvdyno_leveldb_batch_clear(Session* session) { session->batch.Clear(); }

API void kvdyno_leveldb_batch_put(Session* session, const char* key, size_t key_size,
                                  const char* value, size_t size) {
  session->batch.Put(Slice(key, key_size), Slice(value, size));
}

API void kvdyno_leveldb_batch_remove(Session* session, const char* key, size_t key_size) {
  session->batch.Delete(Slice(key, key_size));
}

API int kvdyno_leveldb_batch_write(Session* session) {
  return CodeOf(session->db->Write(session->write, &session->batch));
}

API leveldb::Iterator* kvdyno_leveldb_open_cursor(Session* session) {
  return session->db->NewIterator(session->read);
}

API void kvdyno_leveldb_close_cursor(leveldb::Iterator* cursor) { delete cursor; }

API void kvdyno_leveldb_end(leveldb::Iterator* cursor, int backward) {
  backward != 0 ? cursor->SeekToLast() : cursor->SeekToFirst();
}

// To the key, or to the next there is in this direction.
API void kvdyno_leveldb_seek(leveldb::Iterator* cursor, const char* key, size_t key_size,
                             int backward) {
  const Slice from(key, key_size);
  cursor->Seek(from);
  if (backward == 0) return;
  if (!cursor->Valid()) {
    cursor->SeekToLast();
  } else if (cursor->key() != from) {
    cursor->Prev();
  }
}

API void kvdyno_leveldb_step(leveldb::Iterator* cursor, int backward) {
  backward != 0 ? cursor->Prev() : cursor->Next();
}

// Where it stands, until it moves; 0: nowhere.
API int kvdyno_leveldb_record(const leveldb::Iterator* cursor, const char** key, size_t* key_size,
                              const char** value, size_t* size) {
  if (!cursor->Valid()) return 0;
  const Slice found = cursor->key(), content = cursor->value();
  *key = found.data();
  *key_size = found.size();
  *value = content.data();
  *size = content.size();
  return 1;
}

API int kvdyno_leveldb_status(const leveldb::Iterator* cursor) { return CodeOf(cursor->status()); }

// Compacts from the first key to the last; or, of the range of the empty key alone, does what comes
// before every compaction: writes the memtable to a table, and syncs that.
API void kvdyno_leveldb_compact(Database* database, int everything) {
  const Slice empty;
  const Slice* bound = everything != 0 ? nullptr : &empty;
  database->db->CompactRange(bound, bound);
}

// The text lives until this thread's next call; null: there is no such property.
API const char* kvdyno_leveldb_property(Database* database, const char* name) {
  thread_local std::string text;
  return database->db->GetProperty(name, &text) ? text.c_str() : nullptr;
}
