// The functions of kvdyno_engine.h, which are in exports.go; its Register takes out those that an
// engine lacks.

#define _GNU_SOURCE
#include "table.h"
#include "_cgo_export.h"

#include <pthread.h>
#include <stdlib.h>

// Functions that Go exports have no `const` in their types.
#define GO(field, function) .field = (__typeof__(((kvdyno_engine *)0)->field))(function)

kvdyno_engine kvdyno_go_table = {
    .version = KVDYNO_ENGINE_VERSION,
    GO(describe, kvdynoGoDescribe),
    GO(open, kvdynoGoOpen),
    GO(open_session, kvdynoGoOpenSession),
    GO(close_session, kvdynoGoCloseSession),
    GO(get, kvdynoGoGet),
    GO(put, kvdynoGoPut),
    GO(remove, kvdynoGoRemove),
    GO(scan, kvdynoGoScan),
    GO(walk, kvdynoGoWalk),
    GO(multiget, kvdynoGoMultiGet),
    GO(write, kvdynoGoWrite),
    GO(begin, kvdynoGoBegin),
    GO(commit, kvdynoGoCommit),
    GO(rollback, kvdynoGoRollback),
    GO(get_for_update, kvdynoGoGetForUpdate),
    GO(settle, kvdynoGoSettle),
    GO(sync, kvdynoGoSync),
    GO(counters, kvdynoGoCounters),
    GO(events, kvdynoGoEvents),
    GO(close, kvdynoGoClose),
};

// A library of Go starts its runtime on a thread of its own. The call into Go waits until the
// engine's package is initialised.
const kvdyno_engine *kvdyno_get_engine(void) {
  kvdynoGoReady();
  return &kvdyno_go_table;
}

// The function with which a thread of Go's runtime begins, and its argument.
typedef struct beginning {
  void *(*start)(void *);
  void *argument;
} beginning;

// Names the new thread, and runs its function. A thread inherits the name of the one that started
// it, which may be a client's: kvdyno would count it as one.
static void *run_named_thread(void *pointer) {
  const beginning entry = *(beginning *)pointer;
  free(pointer);
  pthread_setname_np(pthread_self(), "go");
  return entry.start(entry.argument);
}

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*start)(void *), void *argument);

// In this library, the linker puts this function in the place of pthread_create.
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*start)(void *), void *argument) {
  beginning *entry = malloc(sizeof *entry);
  if (entry == NULL) return __real_pthread_create(thread, attributes, start, argument);
  entry->start = start;
  entry->argument = argument;
  const int code = __real_pthread_create(thread, attributes, run_named_thread, entry);
  if (code != 0) free(entry);
  return code;
}
