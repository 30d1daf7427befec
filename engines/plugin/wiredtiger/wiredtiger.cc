// WiredTiger as a plugin of kvdyno: its calls, and what it says of itself.
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
  // Checkpoints that went over their limit: they cannot be called off.
  std::vector<std::future<std::pair<int, std::string>>> settling;
  // What `events` saw last.
  WT_SESSION* watching = nullptr;
  int64_t checkpoints = 0;
};

// A session with a cursor on the table. One that stands on a record pins a page and its snapshot,
// which delays eviction and other sessions' writes. So it is reset as soon as the value was shown.
struct Table {
  WT_SESSION* session = nullptr;
  WT_CURSOR* cursor = nullptr;
};

struct Session {
  Database* database;
  char* message;
  Table table;
  // The open walk keeps its snapshot, and other calls must not.
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

// For one thread at a time. The default isolation of some versions is read-committed.
int NewSession(Database* database, WT_SESSION** session) {
  return database->connection->open_session(database->connection, nullptr, "isolation=snapshot",
                                            session);
}

// The whole configuration that an object has, defaults written out.
int GetMetadata(WT_SESSION* session, const std::string& uri, std::string* config) {
  WT_CURSOR* cursor = nullptr;
  int code = session->open_cursor(session, "metadata:", nullptr, nullptr, &cursor);
  if (code != 0) return code;
  cursor->set_key(cursor, uri.c_str());
  const char* text = nullptr;
  if ((code = cursor->search(cursor)) == 0) code = cursor->get_value(cursor, &text);
  if (code == 0) *config = text;
  const int closed = cursor->close(cursor);
  return code != 0 ? code : closed;
}

// The database's statistics by the names that WiredTiger has.
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
  const int closed = cursor->close(cursor);
  return code != WT_NOTFOUND ? code : closed;
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

// How many checkpoints have ended well, and how long the last one took: by their names in the 11
// line and before.
struct Checkpoints {
  int64_t ended = 0, took_ms = 0;
};

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

int Open(const kvdyno_opening* opening, void** opened, char* message) {
  static WT_EVENT_HANDLER handler = [] {
    WT_EVENT_HANDLER made{};
    made.handle_error = HandleError;
    made.handle_message = IgnoreMessage;
    return made;
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
  *opened = database.release();
  return KVDYNO_OK;
}

// With a last checkpoint, after those that went over their limit.
int Close(void* opened, char* message) {
  const std::unique_ptr<Database> database(static_cast<Database*>(opened));
  database->settling.clear();
  return Result(database->connection->close(database->connection, nullptr), message);
}

// Writes a consistent state of all that is committed to the files, and syncs them.
int Checkpoint(Database* database) {
  WT_SESSION* session = nullptr;
  int code = NewSession(database, &session);
  if (code != 0) return code;
  code = session->checkpoint(session, nullptr);
  const int closed = session->close(session, nullptr);
  return code != 0 ? code : closed;
}

// Without a log only a checkpoint is durable.
int Sync(void* opened, char* message) {
  auto* database = static_cast<Database*>(opened);
  if (database->durability == KVDYNO_NONE) return Result(Checkpoint(database), message);
  WT_SESSION* session = nullptr;
  int code = NewSession(database, &session);
  if (code != 0) return Result(code, message);
  code = session->log_flush(session, "sync=on");
  const int closed = session->close(session, nullptr);
  return Result(code != 0 ? code : closed, message);
}

// A checkpoint writes dirty pages. It has no limit, so it runs in its own thread, and continues in
// the background if it exceeds ours.
int Settle(void* opened, uint64_t limit_ns, int* idle, char* note, char* message) {
  auto* database = static_cast<Database*>(opened);
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
void Counters(void* opened, kvdyno_counters* counters) {
  auto* database = static_cast<Database*>(opened);
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
    if (!Has(kinds, name.substr(0, name.find(':')))) return;
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
void Events(void* opened, kvdyno_events* events) {
  auto* database = static_cast<Database*>(opened);
  Checkpoints now;
  // A failed reading is repeated at the next call.
  if (ReadCheckpoints(database->watching, &now) != 0) return;
  const int64_t ended = now.ended - std::exchange(database->checkpoints, now.ended);
  if (ended <= 0) return;
  const auto clock = std::chrono::system_clock::now().time_since_epoch();
  const auto end = static_cast<uint64_t>(std::chrono::nanoseconds(clock).count());
  const uint64_t took = static_cast<uint64_t>(now.took_ms) * 1000000;
  const std::string detail =
      "took " + std::to_string(now.took_ms) + " ms, the last of " + std::to_string(ended);
  events->add(events, end - std::min(end, took), KVDYNO_CHECKPOINT, KVDYNO_BEGIN, nullptr);
  events->add(events, end, KVDYNO_CHECKPOINT, KVDYNO_END, detail.c_str());
}

// Its writes replace existing values.
int OpenTable(Database* database, Table* table) {
  const int code = NewSession(database, &table->session);
  if (code != 0) return code;
  return table->session->open_cursor(table->session, ("table:" + database->table).c_str(), nullptr,
                                     "overwrite=true", &table->cursor);
}

// With its cursor; what is not committed is rolled back.
void CloseTable(Table* table) {
  if (table->session != nullptr) table->session->close(table->session, nullptr);
  *table = {};
}

int OpenSession(void* opened, char* message, void** session) {
  auto made = std::make_unique<Session>(Session{static_cast<Database*>(opened), message, {}, {}});
  const int code = OpenTable(made->database, &made->table);
  if (code != 0) {
    CloseTable(&made->table);
    return Result(code, message);
  }
  *session = made.release();
  return KVDYNO_OK;
}

void CloseSession(void* opened) {
  const std::unique_ptr<Session> session(static_cast<Session*>(opened));
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

int Get(void* opened, const void* key, size_t key_size, kvdyno_value* value) {
  auto* self = static_cast<Session*>(opened);
  WT_CURSOR* cursor = self->table.cursor;
  WT_ITEM item;
  SetKey(cursor, key, key_size);
  int code = cursor->search(cursor);
  if (code == 0) code = cursor->get_value(cursor, &item);
  if (code != 0) return Result(code, self->message);
  value->show(value, item.data, item.size);
  return Result(cursor->reset(cursor), self->message);
}

// With WT_CURSOR::reserve, which is a write to everybody else. A missing record cannot be reserved:
// writing and removing it has the same effect.
int GetForUpdate(void* opened, const void* key, size_t key_size, kvdyno_value* value) {
  auto* self = static_cast<Session*>(opened);
  WT_CURSOR* cursor = self->table.cursor;
  SetKey(cursor, key, key_size);
  int code = cursor->reserve(cursor);
  if (code == WT_NOTFOUND) {
    code = Insert(cursor, key, key_size, "", 0);
    if (code == 0) code = Erase(cursor, key, key_size);
  }
  return code != 0 ? Result(code, self->message) : Get(opened, key, key_size, value);
}

int Put(void* opened, const void* key, size_t key_size, const void* value, size_t size) {
  auto* self = static_cast<Session*>(opened);
  return Result(Insert(self->table.cursor, key, key_size, value, size), self->message);
}

int Remove(void* opened, const void* key, size_t key_size) {
  auto* self = static_cast<Session*>(opened);
  return Result(Erase(self->table.cursor, key, key_size), self->message);
}

int Begin(void* opened) {
  auto* self = static_cast<Session*>(opened);
  return Result(self->table.session->begin_transaction(self->table.session, nullptr),
                self->message);
}

// One that fails has rolled back.
int Commit(void* opened) {
  auto* self = static_cast<Session*>(opened);
  return Result(self->table.session->commit_transaction(self->table.session, nullptr),
                self->message);
}

void Rollback(void* opened) {
  auto* self = static_cast<Session*>(opened);
  self->table.session->rollback_transaction(self->table.session, nullptr);
}

int Write(void* opened, const kvdyno_write* writes, size_t count) {
  int code = Begin(opened);
  if (code != KVDYNO_OK) return code;
  for (size_t index = 0; code == KVDYNO_OK && index < count; index++) {
    const kvdyno_write& write = writes[index];
    code = write.removes ? Remove(opened, write.key, write.key_size)
                         : Put(opened, write.key, write.key_size, write.value, write.value_size);
  }
  if (code == KVDYNO_OK) return Commit(opened);
  Rollback(opened);
  return code;
}

// To the next record this way; from nowhere, to the first.
int Step(WT_CURSOR* cursor, bool reverse) {
  return reverse ? cursor->prev(cursor) : cursor->next(cursor);
}

// To the key, or to the next there is in this direction.
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

// Shows the records from where the cursor stands, if `code` is that of a step that found one.
// Returns 0 if it stands on the one that was shown last, as no more are wanted: a step would cost
// time for nothing. WT_NOTFOUND: there are no more.
//
// The end is compared with each key: a bound of the cursor (WT_CURSOR::bound) does not exist for
// LSM trees and in older versions, and parses a configuration for each scan.
int Show(WT_CURSOR* cursor, int code, const kvdyno_range* range, kvdyno_records* shown) {
  for (; code == 0; code = Step(cursor, range->reverse)) {
    WT_ITEM key, value;
    if ((code = cursor->get_key(cursor, &key)) != 0) return code;
    if (range->until != nullptr) {
      const int order = Compare(key, range->until, range->until_size);
      if (range->reverse ? order < 0 : order >= 0) return WT_NOTFOUND;
    }
    if ((code = cursor->get_value(cursor, &value)) != 0) return code;
    const kvdyno_record record{key.data, key.size, value.data, value.size};
    if (shown->show(shown, &record, 1)) return 0;
  }
  return code;
}

int Scan(void* opened, const kvdyno_range* range, kvdyno_records* shown) {
  auto* self = static_cast<Session*>(opened);
  WT_CURSOR* cursor = self->table.cursor;
  const int code = Show(cursor, Seek(cursor, range), range, shown);
  const int reset = cursor->reset(cursor);
  return Result(code == 0 || code == WT_NOTFOUND ? reset : code, self->message);
}

// With one cursor from its beginning to its end, in the snapshot that it began with.
int Walk(void* opened, const kvdyno_range* range, kvdyno_records* shown) {
  auto* self = static_cast<Session*>(opened);
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
  if (code == 0) code = Show(table->cursor, code, range, shown);
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
