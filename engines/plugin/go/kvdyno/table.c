// The functions of kvdyno_engine.h, as Go has them; engine.go leaves out those that an engine lacks.

#define _GNU_SOURCE
#include "table.h"
#include "_cgo_export.h"

#include <pthread.h>
#include <stdlib.h>

// Exported functions have no `const` in their types.
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

// A library of Go starts its runtime on a thread of its own: a call into Go waits until the
// engine's package is initialised.
const kvdyno_engine *kvdyno_get_engine(void) {
  kvdynoGoReady();
  return &kvdyno_go_table;
}

// What a thread of Go's runtime begins with.
typedef struct beginning {
  void *(*start)(void *);
  void *argument;
} beginning;

// A thread has the name of the one that started it, which may be a client's: kvdyno would count it
// as one.
static void *begin_named(void *from) {
  const beginning here = *(beginning *)from;
  free(from);
  pthread_setname_np(pthread_self(), "go");
  return here.start(here.argument);
}

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*start)(void *), void *argument);

// The linker puts it in the place of pthread_create in this library.
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*start)(void *), void *argument) {
  beginning *made = malloc(sizeof *made);
  if (made == NULL) return __real_pthread_create(thread, attributes, start, argument);
  made->start = start;
  made->argument = argument;
  const int failed = __real_pthread_create(thread, attributes, begin_named, made);
  if (failed != 0) free(made);
  return failed;
}
