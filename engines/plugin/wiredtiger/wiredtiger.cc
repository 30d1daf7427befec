// WiredTiger as a plugin of kvdyno: the functions of kvdyno_engine.h.
//
// WiredTiger's API is structures of function pointers whose layout differs by version. `kvdyno
// engines get` and `kvdyno engines build` compile this file against the header of the library that
// it is linked with.
#include "describe.h"
#include "kvdyno_engine.h"

#include <pthread.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <future>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <wiredtiger.h>

namespace {

struct Database {
  WT_CONNECTION* connection = nullptr;
  std::string table;
  std::string opened_with;
  kvdyno_durability durability = KVDYNO_NONE;
  // Checkpoints that exceeded their limit and may still run: they cannot be cancelled.
  std::vector<std::future<std::pair<int, std::string>>> settling;
  // The session of `Events`, and the number of checkpoints at its last call.
  WT_SESSION* watching = nullptr;
  int64_t checkpoints = 0;
};

// A session with a cursor on the table. A cursor that stands on a record pins a page and its
// snapshot, which delays eviction and other sessions' writes. So it is reset as soon as its value
// was shown.
struct Table {
  WT_SESSION* session = nullptr;
  WT_CURSOR* cursor = nullptr;
};

struct Session {
  Database* database;
  char* message;
  Table table;
  // The table of the open walk: a walk keeps its snapshot, and other calls must not.
  Table walking;
};

// WiredTiger's words for this thread's last failing call.
thread_local std::string last_error;

int HandleError(WT_EVENT_HANDLER*, WT_SESSION*, int error, const char* message) {
  last_error = message;
  // One of WiredTiger's own threads may panic; its message would be lost.
  if (error == WT_PANIC) std::fprintf(stderr, "WiredTiger: %s\n", message);
  return 0;
}

int IgnoreMessage(WT_EVENT_HANDLER*, WT_SESSION*, const char*) { return 0; }

int Result(int code, char* message) {
  if (code == 0) return KVDYNO_OK;
  if (code == WT_NOTFOUND) return KVDYNO_NOT_FOUND;
  const std::string words = std::exchange(last_error, {});
  std::snprintf(message, KVDYNO_MESSAGE_BYTES, "%s%s%s", wiredtiger_strerror(code),
                words.empty() ? "" : ": ", words.c_str());
  switch (code) {
    case WT_ROLLBACK:
    case WT_PREPARE_CONFLICT: return KVDYNO_CONFLICT;
    case WT_CACHE_FULL:
    case ENOMEM: return KVDYNO_MEMORY;
    case WT_TRY_SALVAGE: return KVDYNO_CORRUPT;
    case EINVAL: return KVDYNO_INVALID;
    default: return code > 0 ? KVDYNO_IO : KVDYNO_OTHER;
  }
}

int Refuse(const std::string& text, char* message) {
  std::snprintf(message, KVDYNO_MESSAGE_BYTES, "%s", text.c_str());
  return KVDYNO_INVALID;
}

// Opens a session for one thread at a time. Some versions default to isolation read-committed.
int NewSession(Database* database, WT_SESSION** session) {
  return database->connection->open_session(database->connection, nullptr, "isolation=snapshot",
                                            session);
}

// Reads the whole configuration of an object, defaults included.
int GetMetadata(WT_SESSION* session, const std::string& uri, std::string* config) {
  WT_CURSOR* cursor = nullptr;
  int code = session->open_cursor(session, "metadata:", nullptr, nullptr, &cursor);
  if (code != 0) return code;
  cursor->set_key(cursor, uri.c_str());
  const char* text = nullptr;
  if ((code = cursor->search(cursor)) == 0) code = cursor->get_value(cursor, &text);
  if (code == 0) *config = text;
  const int close_code = cursor->close(cursor);
  return code != 0 ? code : close_code;
}

// Calls `visit` with the name and the value of each statistic of the database.
template <typename Visit>
int ReadStatistics(WT_SESSION* session, Visit visit) {
  WT_CURSOR* cursor = nullptr;
  int code = session->open_cursor(session, "statistics:", nullptr, "statistics=(fast)", &cursor);
  if (code != 0) return code;
  while ((code = cursor->next(cursor)) == 0) {
    const char *name, *text;
    int64_t value;
    if ((code = cursor->get_value(cursor, &name, &text, &value)) != 0) break;
    visit(std::string(name), value);
  }
  const int close_code = cursor->close(cursor);
  return code != WT_NOTFOUND ? code : close_code;
}

// Refuses a table whose keys or values are not bytes.
int CheckFormats(WT_SESSION* session, const std::string& table, const std::string& config,
                 char* message) {
  WT_CONFIG_PARSER* parser = nullptr;
  int code = wiredtiger_config_parser_open(session, config.c_str(), config.size(), &parser);
  if (code != 0) return Result(code, message);
  std::string mistake;
  for (const char* format : {"key_format", "value_format"}) {
    WT_CONFIG_ITEM item{};
    const bool is_there = parser->get(parser, format, &item) == 0;
    const std::string actual = is_there ? std::string(item.str, item.len) : "";
    if (actual != "u" && mistake.empty()) {
      mistake = "table `" + table + "` has " + format + "=" + actual + ": expected u";
    }
  }
  parser->close(parser);
  return mistake.empty() ? KVDYNO_OK : Refuse(mistake, message);
}

// Creates the table, if the database has none.
int CreateTable(WT_SESSION* session, const kvdyno_opening* opening, const std::string& table,
                char* message) {
  WT_CURSOR* cursor = nullptr;
  int code = session->open_cursor(session, "metadata:", nullptr, nullptr, &cursor);
  if (code != 0) return Result(code, message);
  std::vector<std::string> tables;
  while ((code = cursor->next(cursor)) == 0) {
    const char* key = nullptr;
    if ((code = cursor->get_key(cursor, &key)) != 0) break;
    if (const std::string name = key; name.rfind("table:", 0) == 0)
      tables.push_back(name.substr(6));
  }
  cursor->close(cursor);
  if (code != WT_NOTFOUND) return Result(code, message);
  if (tables.empty()) {
    const std::string uri = "table:" + table, config = TableConfig(opening);
    return Result(session->create(session, uri.c_str(), config.c_str()), message);
  }
  return Refuse("expected a table `" + table + "` in the database, found " + List(tables, "`") +
                    "; choose one with option `table`",
                message);
}

int FindTable(WT_SESSION* session, const kvdyno_opening* opening, char* message) {
  const std::string table = kvdyno_text(opening, "table"), uri = "table:" + table;
  std::string config;
  int code = GetMetadata(session, uri, &config);
  if (code == WT_NOTFOUND) {
    code = CreateTable(session, opening, table, message);
    if (code != KVDYNO_OK) return code;
    code = GetMetadata(session, uri, &config);
  }
  return code != 0 ? Result(code, message) : CheckFormats(session, table, config, message);
}

// The number of checkpoints that have succeeded, and the length of the last one.
struct Checkpoints {
  int64_t ended = 0, took_ms = 0;
};

// Finds the statistics by their names in the 11 line and in older versions.
int ReadCheckpoints(WT_SESSION* session, Checkpoints* checkpoints) {
  return ReadStatistics(session, [&](const std::string& name, int64_t value) {
    if (name == "checkpoint: total succeed number of checkpoints" ||
        name == "transaction: transaction checkpoints") {
      checkpoints->ended = value;
    } else if (name == "checkpoint: most recent time (msecs)" ||
               name == "transaction: transaction checkpoint most recent time (msecs)") {
      checkpoints->took_ms = value;
    }
  });
}

int Open(const kvdyno_opening* opening, void** database_out, char* message) {
  static WT_EVENT_HANDLER handler = [] {
    WT_EVENT_HANDLER callbacks{};
    callbacks.handle_error = HandleError;
    callbacks.handle_message = IgnoreMessage;
    return callbacks;
  }();
  int major, minor, patch;
  wiredtiger_version(&major, &minor, &patch);
  if (major != WIREDTIGER_VERSION_MAJOR || minor != WIREDTIGER_VERSION_MINOR ||
      patch != WIREDTIGER_VERSION_PATCH) {
    return Refuse(
        "expected the WiredTiger that the plugin was compiled against, found another version: "
        "`kvdyno engines build wiredtiger` compiles it again",
        message);
  }
  for (const char* option : {"wiredtiger_open", "session_create"}) {
    const std::string mistake = FindMistake(opening, option);
    if (!mistake.empty()) return Refuse(mistake, message);
  }
  auto database = std::make_unique<Database>();
  database->table = kvdyno_text(opening, "table");
  database->opened_with = OpenConfig(opening);
  database->durability = opening->durability;
  int code = wiredtiger_open(opening->dir, &handler, database->opened_with.c_str(),
                             &database->connection);
  if (code != 0) return Result(code, message);
  code = Result(NewSession(database.get(), &database->watching), message);
  if (code == KVDYNO_OK) code = FindTable(database->watching, opening, message);
  Checkpoints checkpoints;
  if (code == KVDYNO_OK) code = Result(ReadCheckpoints(database->watching, &checkpoints), message);
  if (code != KVDYNO_OK) {
    database->connection->close(database->connection, nullptr);
    return code;
  }
  database->checkpoints = checkpoints.ended;
  *database_out = database.release();
  return KVDYNO_OK;
}

// Waits for checkpoints that exceeded their limit, and closes the database with a last one.
int Close(void* handle, char* message) {
  const std::unique_ptr<Database> database(static_cast<Database*>(handle));
  database->settling.clear();
  return Result(database->connection->close(database->connection, nullptr), message);
}

// Writes a consistent state of all that is committed to the files, and syncs them.
int Checkpoint(Database* database) {
  WT_SESSION* session = nullptr;
  int code = NewSession(database, &session);
  if (code != 0) return code;
  code = session->checkpoint(session, nullptr);
  const int close_code = session->close(session, nullptr);
  return code != 0 ? code : close_code;
}

// Without a log only a checkpoint is durable.
int Sync(void* handle, char* message) {
  auto* database = static_cast<Database*>(handle);
  if (database->durability == KVDYNO_NONE) return Result(Checkpoint(database), message);
  WT_SESSION* session = nullptr;
  int code = NewSession(database, &session);
  if (code != 0) return Result(code, message);
  code = session->log_flush(session, "sync=on");
  const int close_code = session->close(session, nullptr);
  return Result(code != 0 ? code : close_code, message);
}

// Takes a checkpoint, which writes dirty pages. WiredTiger has no limit for it, so it runs in its
// own thread, and continues in the background if it exceeds the limit.
int Settle(void* handle, uint64_t limit_ns, int* idle, char* note, char* message) {
  auto* database = static_cast<Database*>(handle);
  const std::chrono::nanoseconds limit(std::min<uint64_t>(limit_ns, INT64_MAX / 4));
  auto settling = std::async(std::launch::async, [database] {
    pthread_setname_np(pthread_self(), "wt-settle");
    return std::make_pair(Checkpoint(database), std::exchange(last_error, {}));
  });
  std::snprintf(note, KVDYNO_MESSAGE_BYTES, "WT_SESSION::checkpoint");
  if (settling.wait_for(limit) != std::future_status::ready) {
    database->settling.push_back(std::move(settling));
    return KVDYNO_OK;
  }
  int code;
  std::tie(code, last_error) = settling.get();
  *idle = code == 0;
  return Result(code, message);
}

// WiredTiger reports the whole configuration of the table. For the database it reports only
// statistics, so `wiredtiger_open` is the string that was passed. Other statistics are of features
// that are not used here.
void Counters(void* handle, kvdyno_counters* counters) {
  auto* database = static_cast<Database*>(handle);
  counters->add_text(counters, "wiredtiger_open", database->opened_with.c_str());
  WT_SESSION* session = nullptr;
  if (NewSession(database, &session) != 0) return;
  const std::string& table = database->table;
  for (const auto& uri :
       {"table:" + table, "colgroup:" + table, "file:" + table + ".wt", "lsm:" + table}) {
    std::string config;
    if (GetMetadata(session, uri, &config) != 0) continue;
    counters->add_text(counters, ("metadata " + uri).c_str(), config.c_str());
  }
  const std::vector<std::string> kinds = {
      "LSM",    "block-manager", "cache",          "checkpoint",   "connection",
      "cursor", "log",           "reconciliation", "thread-yield", "transaction"};
  ReadStatistics(session, [&](const std::string& name, int64_t value) {
    if (!Contains(kinds, name.substr(0, name.find(':')))) return;
    if (value >= 0) {
      counters->add_integer(counters, name.c_str(), static_cast<uint64_t>(value));
    } else {
      counters->add_number(counters, name.c_str(), static_cast<double>(value));
    }
  });
  session->close(session, nullptr);
}

// WiredTiger has no callback for checkpoints. Their end may be late by the time between two calls.
// If several ended in that time, only the last one's length is known.
void Events(void* handle, kvdyno_events* events) {
  auto* database = static_cast<Database*>(handle);
  Checkpoints now;
  // A failed reading is repeated at the next call.
  if (ReadCheckpoints(database->watching, &now) != 0) return;
  const int64_t count = now.ended - std::exchange(database->checkpoints, now.ended);
  if (count <= 0) return;
  const auto clock = std::chrono::system_clock::now().time_since_epoch();
  const auto end = static_cast<uint64_t>(std::chrono::nanoseconds(clock).count());
  const uint64_t length_ns = static_cast<uint64_t>(now.took_ms) * 1000000;
  const std::string detail =
      "took " + std::to_string(now.took_ms) + " ms, the last of " + std::to_string(count);
  events->add(events, end - std::min(end, length_ns), KVDYNO_CHECKPOINT, KVDYNO_BEGIN, nullptr);
  events->add(events, end, KVDYNO_CHECKPOINT, KVDYNO_END, detail.c_str());
}

// Opens a session with a cursor on the table; its inserts replace existing values.
int OpenTable(Database* database, Table* table) {
  const int code = NewSession(database, &table->session);
  if (code != 0) return code;
  return table->session->open_cursor(table->session, ("table:" + database->table).c_str(), nullptr,
                                     "overwrite=true", &table->cursor);
}

// Closes the session and its cursor; an uncommitted transaction is rolled back.
void CloseTable(Table* table) {
  if (table->session != nullptr) table->session->close(table->session, nullptr);
  *table = {};
}

int OpenSession(void* handle, char* message, void** session) {
  auto self = std::make_unique<Session>(Session{static_cast<Database*>(handle), message, {}, {}});
  const int code = OpenTable(self->database, &self->table);
  if (code != 0) {
    CloseTable(&self->table);
    return Result(code, message);
  }
  *session = self.release();
  return KVDYNO_OK;
}

void CloseSession(void* handle) {
  const std::unique_ptr<Session> session(static_cast<Session*>(handle));
  CloseTable(&session->walking);
  CloseTable(&session->table);
}

void SetKey(WT_CURSOR* cursor, const void* key, size_t size) {
  WT_ITEM item{};
  item.data = key;
  item.size = size;
  cursor->set_key(cursor, &item);
}

int Insert(WT_CURSOR* cursor, const void* key, size_t key_size, const void* value, size_t size) {
  WT_ITEM item{};
  item.data = value;
  item.size = size;
  SetKey(cursor, key, key_size);
  cursor->set_value(cursor, &item);
  return cursor->insert(cursor);
}

int Erase(WT_CURSOR* cursor, const void* key, size_t key_size) {
  SetKey(cursor, key, key_size);
  const int code = cursor->remove(cursor);
  return code == 0 || code == WT_NOTFOUND ? cursor->reset(cursor) : code;
}

int Get(void* handle, const void* key, size_t key_size, kvdyno_value* value) {
  auto* self = static_cast<Session*>(handle);
  WT_CURSOR* cursor = self->table.cursor;
  WT_ITEM item;
  SetKey(cursor, key, key_size);
  int code = cursor->search(cursor);
  if (code == 0) code = cursor->get_value(cursor, &item);
  if (code != 0) return Result(code, self->message);
  value->show(value, item.data, item.size);
  return Result(cursor->reset(cursor), self->message);
}

// Calls WT_CURSOR::reserve, which conflicts with others as a write does. A missing record cannot be
// reserved: writing and removing it has the same effect.
int GetForUpdate(void* handle, const void* key, size_t key_size, kvdyno_value* value) {
  auto* self = static_cast<Session*>(handle);
  WT_CURSOR* cursor = self->table.cursor;
  SetKey(cursor, key, key_size);
  int code = cursor->reserve(cursor);
  if (code == WT_NOTFOUND) {
    code = Insert(cursor, key, key_size, "", 0);
    if (code == 0) code = Erase(cursor, key, key_size);
  }
  return code != 0 ? Result(code, self->message) : Get(handle, key, key_size, value);
}

int Put(void* handle, const void* key, size_t key_size, const void* value, size_t size) {
  auto* self = static_cast<Session*>(handle);
  return Result(Insert(self->table.cursor, key, key_size, value, size), self->message);
}

int Remove(void* handle, const void* key, size_t key_size) {
  auto* self = static_cast<Session*>(handle);
  return Result(Erase(self->table.cursor, key, key_size), self->message);
}

int Begin(void* handle) {
  auto* self = static_cast<Session*>(handle);
  return Result(self->table.session->begin_transaction(self->table.session, nullptr),
                self->message);
}

// A commit that fails has rolled back.
int Commit(void* handle) {
  auto* self = static_cast<Session*>(handle);
  return Result(self->table.session->commit_transaction(self->table.session, nullptr),
                self->message);
}

void Rollback(void* handle) {
  auto* self = static_cast<Session*>(handle);
  self->table.session->rollback_transaction(self->table.session, nullptr);
}

int Write(void* handle, const kvdyno_write* writes, size_t count) {
  int code = Begin(handle);
  if (code != KVDYNO_OK) return code;
  for (size_t index = 0; code == KVDYNO_OK && index < count; index++) {
    const kvdyno_write& write = writes[index];
    code = write.removes ? Remove(handle, write.key, write.key_size)
                         : Put(handle, write.key, write.key_size, write.value, write.value_size);
  }
  if (code == KVDYNO_OK) return Commit(handle);
  Rollback(handle);
  return code;
}

// Moves to the next record in this direction; without a position, to the first one.
int Step(WT_CURSOR* cursor, bool reverse) {
  return reverse ? cursor->prev(cursor) : cursor->next(cursor);
}

// Moves to the key with which the range begins, or to the next one in its direction.
int Seek(WT_CURSOR* cursor, const kvdyno_range* range) {
  if (range->from == nullptr) return Step(cursor, range->reverse);
  int exact;
  SetKey(cursor, range->from, range->from_size);
  const int code = cursor->search_near(cursor, &exact);
  if (code != 0) return code;
  return (range->reverse ? exact > 0 : exact < 0) ? Step(cursor, range->reverse) : 0;
}

int Compare(const WT_ITEM& key, const void* other, size_t size) {
  const int order = std::memcmp(key.data, other, std::min(key.size, size));
  return order != 0 ? order : (key.size > size) - (key.size < size);
}

// Shows the records from the cursor's position on; `code` is the result of the step to it. Returns
// 0 if kvdyno needs no more records: the cursor then stays on the last one shown, which saves a
// step. Returns WT_NOTFOUND at the end of the range.
//
// The end is compared with each key: a bound of the cursor (WT_CURSOR::bound) does not exist for
// LSM trees and in older versions, and parses a configuration for each scan.
int Show(WT_CURSOR* cursor, int code, const kvdyno_range* range, kvdyno_records* sink) {
  for (; code == 0; code = Step(cursor, range->reverse)) {
    WT_ITEM key, value;
    if ((code = cursor->get_key(cursor, &key)) != 0) return code;
    if (range->until != nullptr) {
      const int order = Compare(key, range->until, range->until_size);
      if (range->reverse ? order < 0 : order >= 0) return WT_NOTFOUND;
    }
    if ((code = cursor->get_value(cursor, &value)) != 0) return code;
    const kvdyno_record record{key.data, key.size, value.data, value.size};
    if (sink->show(sink, &record, 1)) return 0;
  }
  return code;
}

int Scan(void* handle, const kvdyno_range* range, kvdyno_records* sink) {
  auto* self = static_cast<Session*>(handle);
  WT_CURSOR* cursor = self->table.cursor;
  const int code = Show(cursor, Seek(cursor, range), range, sink);
  const int reset = cursor->reset(cursor);
  return Result(code == 0 || code == WT_NOTFOUND ? reset : code, self->message);
}

// A walk has one cursor and one snapshot from its beginning to its end.
int Walk(void* handle, const kvdyno_range* range, kvdyno_records* sink) {
  auto* self = static_cast<Session*>(handle);
  Table* table = &self->walking;
  const auto stands_on_last = [&] {
    WT_ITEM key;
    return range->from != nullptr && table->cursor != nullptr &&
           table->cursor->get_key(table->cursor, &key) == 0 &&
           Compare(key, range->from, range->from_size) == 0;
  };
  int code = 0;
  if (!stands_on_last()) {
    CloseTable(table);
    code = OpenTable(self->database, table);
    if (code == 0) code = Seek(table->cursor, range);
  }
  if (code == 0 && stands_on_last()) code = Step(table->cursor, range->reverse);
  if (code == 0) code = Show(table->cursor, code, range, sink);
  if (code != 0) CloseTable(table);
  return Result(code == WT_NOTFOUND ? 0 : code, self->message);
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
    table.begin = Begin;
    table.commit = Commit;
    table.rollback = Rollback;
    table.get_for_update = GetForUpdate;
    table.settle = Settle;
    table.sync = Sync;
    table.counters = Counters;
    table.events = Events;
    table.close = Close;
    return table;
  }();
  return &engine;
}
