/* The engine that does nothing, in C: the difference of its figures from those of engine `null` is
 * the cost of the header. */
#include "kvdyno_engine.h"

#include <stdlib.h>

typedef struct database {
  size_t size;
  char value[];
} database;

static const char *describe(void) {
  return "{\"name\": \"null-c\", \"title\": \"Null in C\", \"version\": \"1\", \"capabilities\": {"
         "\"durability\": {\"none\": {\"settings\": \"nothing is written\","
         " \"power_loss\": \"loses_all\"}}, \"stores_nothing\": true},"
         "\"planning\": {\"space_factor\": 0, \"write_factor\": 0, \"ram_bytes_min\": 1048576}}";
}

static int open_database(const kvdyno_opening *opening, void **database_out, char *message) {
  size_t size = (size_t)opening->value_bytes_mean;
  database *self = malloc(sizeof(database) + size);
  if (self == NULL) {
    strcpy(message, "out of memory");
    return KVDYNO_MEMORY;
  }
  self->size = size;
  memset(self->value, 'v', size);
  *database_out = self;
  return KVDYNO_OK;
}

static int open_session(void *handle, char *message, void **session) {
  (void)message;
  *session = handle;
  return KVDYNO_OK;
}

static void close_session(void *session) { (void)session; }

static int get(void *session, const void *key, size_t key_size, kvdyno_value *value) {
  const database *null = session;
  (void)key, (void)key_size;
#ifdef SHOWS
  value->show(value, null->value, null->size);
#else
  value->data = null->value;
  value->size = null->size;
#endif
  return KVDYNO_OK;
}

static int put(void *session, const void *key, size_t key_size, const void *value,
               size_t value_size) {
  (void)session, (void)key, (void)key_size, (void)value, (void)value_size;
  return KVDYNO_OK;
}

static int close_database(void *handle, char *message) {
  (void)message;
  free(handle);
  return KVDYNO_OK;
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
      .close = close_database,
  };
  return &engine;
}
