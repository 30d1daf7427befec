#pragma once

#include "kvdyno_engine.h"

extern kvdyno_engine kvdyno_go_table;

// Go cannot call pointers to functions: these do.
static inline void kvdyno_go_show_value(kvdyno_value *value, const void *data, size_t size) {
  value->show(value, data, size);
}

static inline void kvdyno_go_show_value_at(kvdyno_values *values, size_t index, const void *data,
                                           size_t size) {
  values->show(values, index, data, size);
}

static inline int kvdyno_go_show_records(kvdyno_records *records, const kvdyno_record *batch,
                                         size_t count) {
  return records->show(records, batch, count);
}

static inline int kvdyno_go_show_record(kvdyno_records *records, const void *key, size_t key_size,
                                        const void *value, size_t value_size) {
  const kvdyno_record record = {key, key_size, value, value_size};
  return records->show(records, &record, 1);
}

static inline void kvdyno_go_add_integer(kvdyno_counters *counters, const char *name,
                                         uint64_t value) {
  counters->add_integer(counters, name, value);
}

static inline void kvdyno_go_add_number(kvdyno_counters *counters, const char *name, double value) {
  counters->add_number(counters, name, value);
}

static inline void kvdyno_go_add_text(kvdyno_counters *counters, const char *name,
                                      const char *value) {
  counters->add_text(counters, name, value);
}

static inline void kvdyno_go_add_event(kvdyno_events *events, uint64_t unix_ns, int kind, int edge,
                                       const char *detail) {
  events->add(events, unix_ns, (kvdyno_event_kind)kind, (kvdyno_edge)edge, detail);
}
