// The description of WiredTiger's plugin, and the configuration strings of its options.
#ifndef KVDYNO_WIREDTIGER_DESCRIBE_H
#define KVDYNO_WIREDTIGER_DESCRIBE_H

#include "kvdyno_engine.h"

#include <algorithm>
#include <initializer_list>
#include <string>
#include <vector>

#include <wiredtiger.h>

// Entry points of compressors that are part of the library; null: it exports none of this name.
extern "C" {
int lz4_extension_init(WT_CONNECTION*, WT_CONFIG_ARG*) __attribute__((weak));
int snappy_extension_init(WT_CONNECTION*, WT_CONFIG_ARG*) __attribute__((weak));
int zlib_extension_init(WT_CONNECTION*, WT_CONFIG_ARG*) __attribute__((weak));
int zstd_extension_init(WT_CONNECTION*, WT_CONFIG_ARG*) __attribute__((weak));
}

namespace {

std::vector<std::string> Compressors() {
  std::vector<std::string> names;
  if (lz4_extension_init != nullptr) names.push_back("lz4");
  if (snappy_extension_init != nullptr) names.push_back("snappy");
  if (zlib_extension_init != nullptr) names.push_back("zlib");
  if (zstd_extension_init != nullptr) names.push_back("zstd");
  return names;
}

// Returns `a, b, c`, each name between two of `quote`.
std::string List(const std::vector<std::string>& names, const char* quote) {
  std::string list;
  for (const auto& name : names) list += (list.empty() ? "" : ", ") + (quote + name + quote);
  return list;
}

#define OPEN "wiredtiger.h, wiredtiger_open"
#define MONGOD "MongoDB, wiredtiger_kv_engine.cpp: how WiredTiger's authors open it"

// Returns an option with its kind, its default, and its presets, as JSON.
std::string Option(const std::string& name, const std::string& kind, const std::string& value,
                   const std::string& help, const std::string& presets = "") {
  return R"({"name": ")" + name + R"(", "kind": )" + kind + R"(, "default": )" + value +
         R"(, "help": ")" + help + R"(", "presets": [)" + presets + "]}";
}

std::string Bytes(const char* name, uint64_t value, const char* help,
                  const std::string& presets = "") {
  return Option(name, R"("bytes")", std::to_string(value), help, presets);
}

std::string Count(const char* name, int least, int most, int value, const std::string& help,
                  const std::string& presets = "") {
  const std::string range =
      R"({"min": )" + std::to_string(least) + R"(, "max": )" + std::to_string(most) + "}";
  return Option(name, R"({"integer": )" + range + "}", std::to_string(value), help, presets);
}

std::string Percent(const char* name, int value, const char* help) {
  return Count(name, 1, 99, value, std::string(help) + " In percent.");
}

// Returns an option whose value is one of some words; the first is the default.
std::string Words(const char* name, const std::vector<std::string>& words, const char* help,
                  const std::string& presets = "") {
  const std::string kind = R"({"choice": {"of": [)" + List(words, "\"") + "]}}";
  return Option(name, kind, "\"" + words[0] + "\"", help, presets);
}

std::string Text(const char* name, const std::string& what) {
  return Option(name, R"("text")", R"("")",
                what +
                    ", in WiredTiger's own form, `a=1,b=(c=2)`; applied last. None that has an "
                    "option here, breaks the durability class, or puts files elsewhere.");
}

std::string Preset(const char* preset, const std::string& value, const char* reason,
                   const char* source) {
  return std::string(R"({"preset": ")") + preset + R"(", "value": )" + value + R"(, "reason": ")" +
         reason + R"(", "source": ")" + source + R"("})";
}

std::string Tuned(const std::string& value, const char* reason, const char* source) {
  return Preset("tuned", value, reason, source);
}

std::string Options() {
  std::vector<std::string> types = {"btree"}, compressors = {"none"};
#ifdef WT_STAT_CONN_LSM_CHECKPOINT_THROTTLE
  types.push_back("lsm");
#endif
  for (const auto& name : Compressors()) compressors.push_back(name);
  const bool snappy = std::count(compressors.begin(), compressors.end(), "snappy") > 0;
  const std::vector<std::string> options = {
      // Options of the whole database.
      Bytes(
          "cache_size", 100 << 20, "Memory of the cache; 1 MiB at least.",
          Tuned(R"("25%")",
                "The cache is the most important setting, and should hold the working set. Not the "
                "half that MongoDB takes of a whole machine: buffers of the log are 32 MiB beside "
                "it, and of memory that it gave back glibc keeps as much again. With a third of "
                "123 MiB all of them were the process's own in the end.",
                "WiredTiger, tune-cache.dox; MongoDB manual, storage.wiredTiger.engineConfig")),
      Count("checkpoint_wait", 0, 100000, 60,
            "Seconds between checkpoints; 0: none but those of sync and close.",
            Preset("defaults", "0", "What the engine takes for itself.", OPEN) + ", " +
                Tuned("60", "Bounds recovery, and the log that is kept for it.", MONGOD)),
      Bytes("checkpoint_log_size", 0,
            "Checkpoint after so many bytes of log as well, up to 2 GiB; 0: by time alone.",
            Tuned("2147483648", "Bounds recovery where much is written in a minute.", MONGOD)),
      Count("eviction_threads_min", 1, 20, 1, "Least threads that evict pages.",
            Tuned("4",
                  "A single thread is insufficient in a busy cache, and threads of the "
                  "application then evict.",
                  "WiredTiger, tune-cache.dox; MongoDB, wiredtiger_kv_engine.cpp")),
      Count("eviction_threads_max", 1, 20, 8, "Most threads that evict pages.",
            Tuned("4", "As many as there are from the beginning.",
                  "WiredTiger, examples/c/ex_all.c; MongoDB, wiredtiger_kv_engine.cpp")),
      Percent("eviction_target", 80, "Threads evict above this share of the cache."),
      Percent("eviction_trigger", 95, "Operations must evict above this share of the cache."),
      Percent("eviction_dirty_target", 5, "Threads evict above this share of dirty cache."),
      Percent("eviction_dirty_trigger", 20,
              "Operations must evict above this share of dirty cache."),
      Text("wiredtiger_open", "Any other configuration of the database"),
      // Options of the log.
      Words("log_compressor", compressors, "Compression of log records.",
            snappy ? Tuned(R"("snappy")", "The log is written in fewer bytes.", MONGOD) : ""),
      Bytes("log_file_max", 100 << 20, "Size of a log file."),
      // Options of the table.
      Option(
          "table", R"("text")", R"("kvdyno")",
          "Table that is measured. A new database gets it, with the options below; in another one "
          "it must exist, with keys and values of format `u`."),
      Words("type", types, "A B-tree, or an LSM tree of them."),
      Words("block_compressor", compressors, "Compression of pages in the file."),
      Bytes("leaf_page_max", 32 << 10, "Largest leaf page in the file."),
      Bytes("internal_page_max", 4 << 10, "Largest internal page in the file."),
      Bytes("memory_page_max", 5 << 20, "Size a page can grow to in memory.",
            Tuned("10485760", "Pages that are written to are split and reconciled less often.",
                  "WiredTiger, tune-page-size-and-comp.dox; MongoDB, wiredtiger_record_store.cpp")),
      Bytes("allocation_size", 4 << 10, "Unit of allocation in the file."),
      Count("split_pct", 0, 100, 90,
            "Fill of pages that a split leaves; 66 suits random updates, 100 appending."),
      Option("prefix_compression", R"("boolean")", "false",
             "Store the prefixes of keys once a page."),
      Words("checksum", {"on", "off", "uncompressed", "unencrypted"},
            "Which blocks have a checksum."),
      Text("session_create", "Any other configuration of the table")};
  return List(options, "");
}

// `assertions`: only a build with assertions has a message about a hazard pointer with these details.
// `value_bytes_max`: the header's limit of an item, "a small number of bytes less than 4GB".
// `planning`: a random load of 1 M x 16/100 bytes, data a little larger than the cache, with the
// log, took 4.1 times the data on the volume, and wrote 15 to 18 times the data; with 4000-byte
// values, 1.9 and 3.3 times. With a limit of 123 MiB, 31 of it cache, two of four trials of `field`
// were killed: more than 92 MiB beside the cache.
const char* Describe() {
  int major, minor, patch;
  const std::string release = wiredtiger_version(&major, &minor, &patch);
  static const std::string text = R"({"name": "wiredtiger", "title": "WiredTiger", "version": ")" +
                                  std::to_string(major) + "." + std::to_string(minor) + "." +
                                  std::to_string(patch) + R"(", "build": {"release": ")" + release +
                                  R"(", "compressors": ")" + List(Compressors(), "") + R"json("},
  "assertions": "discarded object: (%p: session %p name %s: %s, line %d)",
  "capabilities": {
    "durability": {
      "none": {
        "settings": "log=(enabled=false): no log; a crash loses what was written since the last checkpoint; sync and close checkpoint",
        "power_loss": "loses_last"},
      "async": {
        "settings": "log=(enabled=true),transaction_sync=(enabled=true,method=none): the log is written to the operating system at each commit, not synced",
        "power_loss": "loses_last"},
      "commit": {
        "settings": "log=(enabled=true),transaction_sync=(enabled=true,method=fsync): the log is synced at each commit; commits under way share a sync",
        "power_loss": "keeps"}},
    "delete": true, "scan_forward": true, "scan_reverse": true, "batch": "atomic",
    "atomic_read_modify_write": true, "transactions": "optimistic", "value_bytes_max": 4294966272},
  "options": [)json" + Options() + R"(],
  "planning": {"space_factor": 4.5, "write_factor": 20, "ram_bytes_min": 100663296}})";
  return text.c_str();
}

// The settings that a user's own configuration must not have, and the reasons.
const struct {
  const char* why;
  std::vector<std::string> names;
} kRefused[] = {
    {"would put files outside the database's directory, or run code from there",
     {"path", "extensions", "use_environment", "use_environment_priv", "tiered_storage",
      "chunk_cache", "block_cache", "import", "source", "merge_custom", "multiprocess"}},
    {"would break the durability class",
     {"log", "transaction_sync", "in_memory", "readonly", "salvage"}},
    {"is set by an option of its own, or by kvdyno",
     {"cache_size",
      "checkpoint",
      "config_base",
      "create",
      "eviction",
      "eviction_target",
      "eviction_trigger",
      "eviction_dirty_target",
      "eviction_dirty_trigger",
      "session_max",
      "statistics",
      "type",
      "block_compressor",
      "leaf_page_max",
      "internal_page_max",
      "memory_page_max",
      "allocation_size",
      "split_pct",
      "prefix_compression",
      "checksum",
      "columns",
      "colgroups"}}};

bool Contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Returns the mistake in the user's own configuration, option `option`; empty: there is none.
std::string FindMistake(const kvdyno_opening* opening, const std::string& option) {
  // A name is a setting if a value follows it, or if it may stand alone.
  const std::vector<std::string> alone = {"create",  "in_memory",    "readonly",
                                          "salvage", "multiprocess", "use_environment"};
  const std::string text = kvdyno_text(opening, option.c_str());
  for (size_t start = 0, end = 0; end != std::string::npos; start = end + 1) {
    end = text.find_first_of(",()[]{}", start);
    const std::string item = text.substr(start, end == std::string::npos ? end : end - start);
    const size_t value = item.find_first_of("=:");
    std::string key = item.substr(0, value);
    key.erase(0, key.find_first_not_of(" \t\n\r\""));
    key.erase(key.find_last_not_of(" \t\n\r\"") + 1);
    for (const auto& refused : kRefused) {
      if ((value != std::string::npos || Contains(alone, key)) && Contains(refused.names, key)) {
        return option + ": " + key + " " + refused.why;
      }
    }
  }
  return "";
}

// Returns the value of an option in the form of a configuration string.
std::string FormatOption(const kvdyno_opening* opening, const char* name) {
  const kvdyno_option* option = kvdyno_find_option(opening, name);
  if (option == nullptr) return "";
  if (option->kind == KVDYNO_TEXT) return option->text;
  if (option->kind == KVDYNO_BOOLEAN) return option->integer != 0 ? "true" : "false";
  return std::to_string(option->integer);
}

// Returns `name=value,` for each of the options.
std::string FormatOptions(const kvdyno_opening* opening,
                          std::initializer_list<const char*> names) {
  std::string text;
  for (const char* name : names) {
    text += std::string(name) + "=" + FormatOption(opening, name) + ",";
  }
  return text;
}

// Returns the configuration of `wiredtiger_open`.
std::string OpenConfig(const kvdyno_opening* opening) {
  // 64 are for WiredTiger's own threads and for calls outside of sessions; a walk has one more.
  const uint64_t sessions = 64 + 2 * opening->sessions;
  const auto value = [opening](const char* name) { return FormatOption(opening, name); };
  const std::string log = opening->durability == KVDYNO_NONE
                              ? "log=(enabled=false),"
                              : "log=(enabled=true,file_max=" + value("log_file_max") +
                                    ",compressor=" + value("log_compressor") +
                                    "),transaction_sync=(enabled=true,method=" +
                                    (opening->durability == KVDYNO_COMMIT ? "fsync" : "none") +
                                    "),";
  // The plan's options alone decide: the environment and the configuration that the database was
  // created with do not count.
  return "create,use_environment=false,config_base=false,statistics=(fast),session_max=" +
         std::to_string(sessions) + ",checkpoint=(wait=" + value("checkpoint_wait") +
         ",log_size=" + value("checkpoint_log_size") +
         "),eviction=(threads_min=" + value("eviction_threads_min") +
         ",threads_max=" + value("eviction_threads_max") + ")," + log +
         FormatOptions(opening, {"cache_size", "eviction_target", "eviction_trigger",
                                 "eviction_dirty_target", "eviction_dirty_trigger"}) +
         value("wiredtiger_open");
}

// Returns the configuration of the table.
std::string TableConfig(const kvdyno_opening* opening) {
  const bool lsm = FormatOption(opening, "type") == "lsm";
  return std::string("key_format=u,value_format=u,type=") + (lsm ? "lsm," : "file,") +
         FormatOptions(opening,
                       {"block_compressor", "leaf_page_max", "internal_page_max",
                        "memory_page_max", "allocation_size", "split_pct", "prefix_compression",
                        "checksum"}) +
         FormatOption(opening, "session_create");
}

}  // namespace

#endif
