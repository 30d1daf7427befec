/* A plugin that keeps one record in memory, and breaks its contract in the way that FAULT names. */
#include "../include/kvdyno_engine.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define NO_FAULT 0
#define OTHER_VERSION 1
#define RUBBISH 2
#define NO_GET 3
#define UNKNOWN_CLAIM 4
#define CLAIM_WITHOUT_FUNCTION 5
#define CRASHES_IN_OPEN 6
#define OTHER_THREAD 7
#define TOO_LATE 8
#define SHOWS_TWICE 9
#define SHOWS_NOTHING 10
#define FAILS 11
#define UNKNOWN_RESULT 12
#define OTHER_NAME 13
#define PRINTS 14
#define COUNTS_ELSEWHERE 15
#define COUNTS_TOO_LATE 16
#define ASKS_FOR_NO_INTEGER 17
#define ASKS_FOR_NO_TEXT 18
#define ASKS_FOR_OTHER_KIND 19

static const char *describe(void) {
#if FAULT == PRINTS
  printf("a line of the engine's own\n");
  fflush(stdout);
#endif
#if FAULT == RUBBISH
  return "mine, version 1";
#endif
  return "{\"name\": "
#if FAULT == OTHER_NAME
         "\"yours\""
#else
         "\"faulty\""
#endif
         ", \"title\": \"Faulty\", \"version\": \"1\", \"capabilities\": {"
#if FAULT == UNKNOWN_CLAIM
         "\"flies\": true,"
#endif
#if FAULT == CLAIM_WITHOUT_FUNCTION
         "\"delete\": true,"
#endif
         "\"durability\": {\"none\": {\"settings\": \"in memory\", \"power_loss\": \"loses_all\"}}},"
#if FAULT == ASKS_FOR_OTHER_KIND
         "\"options\": [{\"name\": \"cache_bytes\", \"kind\": \"bytes\", \"default\": 8, \"help\": \"Bytes.\"}],"
#endif
         "\"planning\": {\"space_factor\": 1, \"write_factor\": 1, \"ram_bytes_min\": 1}}";
}

static int open_database(const kvdyno_opening *opening, void **database, char *message) {
  (void)opening, (void)message;
#if FAULT == CRASHES_IN_OPEN
  *(volatile int *)16 = 1;
#endif
#if FAULT == ASKS_FOR_NO_INTEGER
  kvdyno_integer(opening, "cach_bytes");
#endif
#if FAULT == ASKS_FOR_NO_TEXT
  kvdyno_text(opening, "compresion");
#endif
#if FAULT == ASKS_FOR_OTHER_KIND
  kvdyno_text(opening, "cache_bytes");
#endif
  *database = malloc(1);
  return KVDYNO_OK;
}

static char *message_room;
static kvdyno_value *late_value;

static int open_session(void *database, char *message, void **session) {
  message_room = message;
  *session = database;
  return KVDYNO_OK;
}

static void close_session(void *session) {
  (void)session;
#if FAULT == TOO_LATE
  usleep(500000);
#endif
}

static void *show(void *value) {
  ((kvdyno_value *)value)->show(value, "v", 1);
  return NULL;
}

static void *show_later(void *nothing) {
  (void)nothing;
  usleep(50000);
  return show(late_value);
}

static int get(void *session, const void *key, size_t size, kvdyno_value *value) {
  (void)session, (void)key, (void)size;
#if FAULT == OTHER_THREAD
  pthread_t thread;
  pthread_create(&thread, NULL, show, value);
  pthread_join(thread, NULL);
#elif FAULT == TOO_LATE
  pthread_t thread;
  late_value = value;
  value->show(value, "v", 1);
  pthread_create(&thread, NULL, show_later, NULL);
  usleep(1);
#elif FAULT == SHOWS_NOTHING
  (void)value;
#elif FAULT == FAILS
  strcpy(message_room, "the sector is gone");
  return KVDYNO_IO;
#elif FAULT == UNKNOWN_RESULT
  return 77;
#else
  show(value);
#endif
#if FAULT == SHOWS_TWICE
  show(value);
#endif
  return KVDYNO_OK;
}

static int put(void *session, const void *key, size_t size, const void *value, size_t value_size) {
  (void)session, (void)key, (void)size, (void)value, (void)value_size;
  return KVDYNO_OK;
}

static kvdyno_counters *late_counters;

static void *count(void *counters) {
  ((kvdyno_counters *)counters)->add_integer(counters, "reads", 1);
  return NULL;
}

static void counters(void *database, kvdyno_counters *counters) {
  (void)database;
#if FAULT == COUNTS_ELSEWHERE
  pthread_t thread;
  pthread_create(&thread, NULL, count, counters);
  pthread_join(thread, NULL);
#else
  count(counters);
#endif
  late_counters = counters;
}

static int close_database(void *database, char *message) {
  (void)message;
#if FAULT == COUNTS_TOO_LATE
  if (late_counters != NULL) count(late_counters);
#endif
  free(database);
  return KVDYNO_OK;
}

const kvdyno_engine *kvdyno_get_engine(void) {
  static kvdyno_engine engine = {KVDYNO_ENGINE_VERSION, describe, open_database, open_session,
                                 close_session, get, put, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
                                 NULL, NULL, NULL, NULL, counters, NULL, close_database};
#if FAULT == OTHER_VERSION
  engine.version = 99;
#elif FAULT == NO_GET
  engine.get = NULL;
#endif
  return &engine;
}
