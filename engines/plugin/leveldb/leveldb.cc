// LevelDB as a plugin of kvdyno: its description, and the functions of kvdyno_engine.h.
//
// LevelDB's own C API returns every value in memory from malloc. These functions call its C++ API
// with slices and strings that a session keeps. `kvdyno engines get` and `kvdyno engines build`
// compile them against the header of the library that they are linked with.
#include "kvdyno_engine.h"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <leveldb/cache.h>
#include <leveldb/db.h>
#include <leveldb/env.h>
#include <leveldb/filter_policy.h>
#include <leveldb/iterator.h>
#include <leveldb/options.h>
#include <leveldb/status.h>
#include <leveldb/write_batch.h>

using leveldb::Slice;
using leveldb::Status;
using Clock = std::chrono::steady_clock;

namespace {

struct Settled {
  Status status;
  bool idle = false;
};

struct Database {
  // Destroyed from the last to the first: threads that settle, the database, then what it uses.
  std::unique_ptr<leveldb::Cache> cache;
  std::unique_ptr<const leveldb::FilterPolicy> filter;
  std::unique_ptr<leveldb::DB> db;
  bool sync = false;
  bool compact_to_settle = false;
  std::vector<std::future<Settled>> settling;
};

struct Session {
  leveldb::DB* db;
  char* message;
  leveldb::ReadOptions read;
  leveldb::WriteOptions write;
  // These two keep their memory from call to call.
  std::string value;
  leveldb::WriteBatch batch;
  // The iterator of a walk.
  std::unique_ptr<leveldb::Iterator> walking;
};

// There is no class `none`: the log cannot be switched off. `assertions`: with assertions, the
// library has the names of functions that use them. `planning`: a random load of 1 M x 16/100 bytes
// took as much room as the data at rest, and wrote it 5.4 times (4.7 with 4000-byte values), before
// its deeper levels were full. While it compacts, the factors are as RocksDB's. `field` (1 M x 16/500
// bytes) takes 32 MiB in all: the block cache hardly fills, and why is not known.
const char* Describe() {
  static const std::string text = R"({"name": "leveldb", "title": "LevelDB", "version": ")" +
                                  std::to_string(leveldb::kMajorVersion) + "." +
                                  std::to_string(leveldb::kMinorVersion) +
                                  R"(", "assertions": "void leveldb::DBImpl::",
  "capabilities": {
    "durability": {
      "async": {
        "settings": "WriteOptions.sync = false: the log is handed to the operating system, not synced",
        "power_loss": "loses_last"},
      "commit": {
        "settings": "WriteOptions.sync = true: the log is synced (fdatasync) before the call returns; writers that wait share a sync",
        "power_loss": "keeps"}},
    "delete": true, "scan_forward": true, "scan_reverse": true, "batch": "atomic",
    "value_bytes_max": 4294967295},
  "options": [
    {"name": "write_buffer_size", "kind": "bytes", "default": 4194304,
     "help": "Size at which a memtable is written to a table; there may be two.",
     "presets": [{"preset": "tuned", "value": "5%",
       "reason": "Larger values increase performance, above all of bulk loads.",
       "source": "LevelDB, include/leveldb/options.h"}]},
    {"name": "block_cache", "kind": "bytes", "default": 8388608,
     "help": "Capacity of the cache of uncompressed blocks. Blocks that are stored uncompressed in files that are mapped (the first 1000) are not put there.",
     "presets": [{"preset": "tuned", "value": "50%",
       "reason": "It caches hot blocks uncompressed; the file cache holds the compressed rest.",
       "source": "LevelDB, doc/index.md"}]},
    {"name": "block_size", "kind": "bytes", "default": 4096,
     "help": "Uncompressed size of a block."},
    {"name": "block_restart_interval", "kind": {"integer": {"min": 0, "max": 65536}},
     "default": 16, "help": "Keys between whole keys."},
    {"name": "bloom_bits", "kind": {"integer": {"min": 0, "max": 64}}, "default": 0,
     "help": "Bits per key of a Bloom filter; 0: no filter.",
     "presets": [{"preset": "tuned", "value": 10,
       "reason": "Saves about 99 of 100 reads of blocks without the key.",
       "source": "LevelDB, doc/index.md"}]},
    {"name": "compression", "kind": {"choice": {"of": ["snappy", "none"]}}, "default": "snappy",
     "help": "Compression of blocks."},
    {"name": "max_open_files", "kind": {"integer": {"min": 0, "max": 2147483647}}, "default": 1000,
     "help": "Table files kept open; at least 74."},
    {"name": "max_file_size", "kind": "bytes", "default": 2097152,
     "help": "Size of a table file; at least 1 MiB."},
    {"name": "paranoid_checks", "kind": "boolean", "default": false,
     "help": "Stop at the first sign of damage."},
    {"name": "settle", "kind": {"choice": {"of": ["wait", "compact"]}}, "default": "wait",
     "help": "What settling does after the memtable is written: wait for compactions, or compact everything, as db_bench's `compact`."}],
  "planning": {"space_factor": 2.5, "write_factor": 15, "ram_bytes_min": 33554432}})";
  return text.c_str();
}

int Fail(const Status& status, char* message) {
  std::string text = status.ToString();
  const auto says = [&](const char* words) { return text.find(words) != std::string::npos; };
  // LevelDB names both comparators, but not which of them the database has.
  if (says("does not match existing comparator")) {
    text += "; hint: the first is the database's, and kvdyno opens databases with the second alone";
  }
  std::snprintf(message, KVDYNO_MESSAGE_BYTES, "%s", text.c_str());
  if (says("Cannot allocate memory")) return KVDYNO_MEMORY;
  if (status.IsCorruption()) return KVDYNO_CORRUPT;
  if (status.IsNotSupportedError()) return KVDYNO_UNSUPPORTED;
  if (status.IsInvalidArgument()) return KVDYNO_INVALID;
  return status.IsIOError() ? KVDYNO_IO : KVDYNO_OTHER;
}

int Result(const Status& status, char* message) {
  if (status.ok()) return KVDYNO_OK;
  return status.IsNotFound() ? KVDYNO_NOT_FOUND : Fail(status, message);
}

bool OptionIs(const kvdyno_opening* opening, const char* option, const char* word) {
  return std::string(kvdyno_text(opening, option)) == word;
}

int Open(const kvdyno_opening* opening, void** database_out, char* message) {
  auto database = std::make_unique<Database>();
  const auto integer = [opening](const char* name) { return kvdyno_integer(opening, name); };
  leveldb::Options options;
  options.create_if_missing = true;
  options.paranoid_checks = integer("paranoid_checks") != 0;
  options.write_buffer_size = integer("write_buffer_size");
  options.max_file_size = integer("max_file_size");
  options.block_size = integer("block_size");
  options.block_restart_interval = static_cast<int>(integer("block_restart_interval"));
  options.max_open_files = static_cast<int>(integer("max_open_files"));
  options.compression = OptionIs(opening, "compression", "snappy") ? leveldb::kSnappyCompression
                                                                   : leveldb::kNoCompression;
  database->cache.reset(leveldb::NewLRUCache(integer("block_cache")));
  options.block_cache = database->cache.get();
  if (const auto bits = integer("bloom_bits"); bits > 0) {
    database->filter.reset(leveldb::NewBloomFilterPolicy(static_cast<int>(bits)));
    options.filter_policy = database->filter.get();
  }
  database->sync = opening->durability == KVDYNO_COMMIT;
  database->compact_to_settle = OptionIs(opening, "settle", "compact");
  // The thread that compacts would inherit the name of the thread that needs it first.
  options.env->Schedule([](void*) { pthread_setname_np(pthread_self(), "leveldb"); }, nullptr);
  leveldb::DB* db = nullptr;
  const Status status = leveldb::DB::Open(options, opening->dir, &db);
  database->db.reset(db);
  if (status.ok()) *database_out = database.release();
  return Result(status, message);
}

int Close(void* handle, char*) {
  delete static_cast<Database*>(handle);
  return KVDYNO_OK;
}

// Writes the memtable to a table, and syncs that: every compaction begins with this, and one of the
// range of the empty key alone does no more.
void WriteMemtable(leveldb::DB* db) {
  const Slice empty;
  db->CompactRange(&empty, &empty);
}

// CompactRange returns no error. But after an error LevelDB refuses all writes, even an empty one.
// If there was no room for a new log, the memtable is in the old one, which this write syncs.
Status SyncLog(leveldb::DB* db) {
  leveldb::WriteOptions options;
  options.sync = true;
  leveldb::WriteBatch batch;
  return db->Write(options, &batch);
}

// LevelDB closes a full log without a sync, so a synced write after it would not be enough. Instead
// all data goes into tables, which are synced.
int Sync(void* handle, char* message) {
  auto* database = static_cast<Database*>(handle);
  if (database->sync) return KVDYNO_OK;
  WriteMemtable(database->db.get());
  return Result(SyncLog(database->db.get()), message);
}

// Returns whether LevelDB would compact: at four files in level 0, 10 MiB in level 1, ten times as
// much in each level below (VersionSet::Finalize); the last level is never over its size.
bool WantsCompaction(leveldb::DB* db) {
  constexpr int kLevels = 7;
  std::string tables;
  db->GetProperty("leveldb.sstables", &tables);
  double used[kLevels] = {}, most = 10 << 20;
  unsigned level = 0;
  std::istringstream lines(tables);
  for (std::string line; std::getline(lines, line);) {
    // `--- level 1 ---`, ` 17:2123456['a' @ 5 : 1 .. 'd' @ 9 : 1]`
    unsigned long bytes;
    if (std::sscanf(line.c_str(), "--- level %u", &level) == 1 || level >= kLevels) continue;
    if (std::sscanf(line.c_str(), " %*u:%lu[", &bytes) == 1) used[level] += level == 0 ? 1 : bytes;
  }
  bool wants = used[0] >= 4;
  for (int below = 1; below < kLevels - 1; below++, most *= 10) wants |= used[below] >= most;
  return wants;
}

// Looks several times: between two compactions, no level may be over its size for a moment.
bool WaitUntilIdle(leveldb::DB* db, Clock::time_point deadline) {
  for (int idle = 0; idle < 3; idle = WantsCompaction(db) ? 0 : idle + 1) {
    if (Clock::now() >= deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return true;
}

// LevelDB has no call that waits for compactions, and cannot cancel one. So a thread compacts and
// waits, and continues in the background if a compaction exceeds the limit.
int Settle(void* handle, uint64_t limit_ns, int* idle, char* note, char* message) {
  auto* database = static_cast<Database*>(handle);
  const std::chrono::nanoseconds limit(std::min<uint64_t>(limit_ns, INT64_MAX / 4));
  const auto deadline = Clock::now() + limit;
  auto settling = std::async(std::launch::async, [database, deadline] {
    pthread_setname_np(pthread_self(), "leveldb-settle");
    leveldb::DB* db = database->db.get();
    WriteMemtable(db);
    if (database->compact_to_settle) db->CompactRange(nullptr, nullptr);
    const Status status = SyncLog(db);
    return Settled{status, status.ok() && WaitUntilIdle(db, deadline)};
  });
  Settled settled;
  if (settling.wait_until(deadline) == std::future_status::ready) {
    settled = settling.get();
  } else {
    database->settling.push_back(std::move(settling));
  }
  *idle = settled.idle;
  std::snprintf(note, KVDYNO_MESSAGE_BYTES, "memtable written, %slevels within their sizes",
                database->compact_to_settle ? "CompactRange, " : "");
  return Result(settled.status, message);
}

void Counters(void* handle, kvdyno_counters* counters) {
  auto* database = static_cast<Database*>(handle);
  const auto add = [&](const std::string& name) {
    std::string text;
    if (!database->db->GetProperty(name, &text)) return;
    char* end = nullptr;
    const uint64_t number = std::strtoull(text.c_str(), &end, 10);
    if (!text.empty() && *end == 0) {
      counters->add_integer(counters, name.c_str(), number);
    } else {
      counters->add_text(counters, name.c_str(), text.c_str());
    }
  };
  for (const char* name : {"stats", "sstables", "approximate-memory-usage"}) {
    add(std::string("leveldb.") + name);
  }
  for (int level = 0; level < 7; level++) {
    add("leveldb.num-files-at-level" + std::to_string(level));
  }
}

int OpenSession(void* handle, char* message, void** session) {
  auto* database = static_cast<Database*>(handle);
  auto* self = new Session{database->db.get(), message, {}, {}, {}, {}, {}};
  self->write.sync = database->sync;
  *session = self;
  return KVDYNO_OK;
}

void CloseSession(void* session) { delete static_cast<Session*>(session); }

Slice View(const void* data, size_t size) { return {static_cast<const char*>(data), size}; }

// The value lies in the session until its next get.
int Get(void* handle, const void* key, size_t key_size, kvdyno_value* value) {
  auto* self = static_cast<Session*>(handle);
  const Status status = self->db->Get(self->read, View(key, key_size), &self->value);
  value->data = self->value.data();
  value->size = self->value.size();
  return Result(status, self->message);
}

int Put(void* handle, const void* key, size_t key_size, const void* value, size_t size) {
  auto* self = static_cast<Session*>(handle);
  return Result(self->db->Put(self->write, View(key, key_size), View(value, size)), self->message);
}

int Remove(void* handle, const void* key, size_t key_size) {
  auto* self = static_cast<Session*>(handle);
  return Result(self->db->Delete(self->write, View(key, key_size)), self->message);
}

int Write(void* handle, const kvdyno_write* writes, size_t count) {
  auto* self = static_cast<Session*>(handle);
  self->batch.Clear();
  for (const kvdyno_write* write = writes; write != writes + count; write++) {
    if (write->removes) {
      self->batch.Delete(View(write->key, write->key_size));
    } else {
      self->batch.Put(View(write->key, write->key_size), View(write->value, write->value_size));
    }
  }
  return Result(self->db->Write(self->write, &self->batch), self->message);
}

// Moves to the key with which the range begins, or to the next one in its direction.
void Seek(leveldb::Iterator* records, const kvdyno_range* range) {
  if (range->from == nullptr) {
    return range->reverse ? records->SeekToLast() : records->SeekToFirst();
  }
  const Slice from = View(range->from, range->from_size);
  records->Seek(from);
  if (!range->reverse) return;
  if (!records->Valid()) {
    records->SeekToLast();
  } else if (records->key() != from) {
    records->Prev();
  }
}

void Step(leveldb::Iterator* records, bool reverse) { reverse ? records->Prev() : records->Next(); }

// Shows the records from the iterator's position on. Returns whether the iterator stays on the last
// record shown, which saves a step, because kvdyno needs no more; false at the end of the range.
bool Show(leveldb::Iterator* records, const kvdyno_range* range, kvdyno_records* sink) {
  const Slice until = View(range->until, range->until_size);
  for (; records->Valid(); Step(records, range->reverse)) {
    const Slice key = records->key(), value = records->value();
    if (range->until != nullptr) {
      const int order = key.compare(until);
      if (range->reverse ? order < 0 : order >= 0) return false;
    }
    const kvdyno_record record{key.data(), key.size(), value.data(), value.size()};
    if (sink->show(sink, &record, 1)) return true;
  }
  return false;
}

int Scan(void* handle, const kvdyno_range* range, kvdyno_records* sink) {
  auto* self = static_cast<Session*>(handle);
  const std::unique_ptr<leveldb::Iterator> records(self->db->NewIterator(self->read));
  Seek(records.get(), range);
  Show(records.get(), range, sink);
  return Result(records->status(), self->message);
}

// A walk has one iterator from its beginning to its end, as a sequential read of db_bench.
int Walk(void* handle, const kvdyno_range* range, kvdyno_records* sink) {
  auto* self = static_cast<Session*>(handle);
  auto& records = self->walking;
  const auto stands_on_last = [&] {
    return range->from != nullptr && records != nullptr && records->Valid() &&
           records->key() == View(range->from, range->from_size);
  };
  if (!stands_on_last()) {
    records.reset(self->db->NewIterator(self->read));
    Seek(records.get(), range);
  }
  if (stands_on_last()) Step(records.get(), range->reverse);
  const bool is_on_last = Show(records.get(), range, sink);
  const int result = Result(records->status(), self->message);
  if (!is_on_last) records.reset();
  return result;
}

}  // namespace

const kvdyno_engine* kvdyno_get_engine() {
  static const kvdyno_engine engine = [] {
    kvdyno_engine table{};
    table.version = KVDYNO_ENGINE_VERSION;
    table.describe = Describe;
    table.open = Open;
    table.open_session = OpenSession;
    table.close_session = CloseSession;
    table.get = Get;
    table.put = Put;
    table.remove = Remove;
    table.scan = Scan;
    table.walk = Walk;
    table.write = Write;
    table.settle = Settle;
    table.sync = Sync;
    table.counters = Counters;
    table.close = Close;
    return table;
  }();
  return &engine;
}
