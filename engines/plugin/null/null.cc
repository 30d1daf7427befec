// The engine that does nothing, in C++, behind a virtual method and a lambda, as an engine may have
// them: the difference of its figures from those of engine `null` is the cost of the header.
#include "kvdyno_engine.h"

#include <memory>
#include <string>
#include <string_view>

namespace {

class Engine {
 public:
  virtual ~Engine() = default;
  virtual bool Get(std::string_view key, kvdyno_value* value) const = 0;
};

class Null final : public Engine {
 public:
  explicit Null(size_t size) : value_(size, 'v') {}
  bool Get(std::string_view, kvdyno_value* value) const override {
    value->show(value, value_.data(), value_.size());
    return true;
  }

 private:
  std::string value_;
};

const char* Describe() {
  return R"json({"name": "null-cpp", "title": "Null in C++", "version": "1", "capabilities": {
    "durability": {"none": {"settings": "nothing is written", "power_loss": "loses_all"}},
    "stores_nothing": true},
    "planning": {"space_factor": 0, "write_factor": 0, "ram_bytes_min": 1048576}})json";
}

int Open(const kvdyno_opening* opening, void** database_out, char*) {
  *database_out = static_cast<Engine*>(new Null(opening->value_bytes_mean));
  return KVDYNO_OK;
}

int OpenSession(void* handle, char*, void** session) {
  *session = handle;
  return KVDYNO_OK;
}

void CloseSession(void*) {}

int Get(void* session, const void* key, size_t size, kvdyno_value* value) {
  const std::string_view key_view(static_cast<const char*>(key), size);
  return static_cast<Engine*>(session)->Get(key_view, value) ? KVDYNO_OK : KVDYNO_NOT_FOUND;
}

int Put(void*, const void*, size_t, const void*, size_t) { return KVDYNO_OK; }

int Close(void* handle, char*) {
  delete static_cast<Engine*>(handle);
  return KVDYNO_OK;
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
    table.close = Close;
    return table;
  }();
  return &engine;
}
