// The functions of kvdyno_engine.h, as Go has them; engine.go leaves out those that an engine lacks.

#include "table.h"
#include "_cgo_export.h"

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
