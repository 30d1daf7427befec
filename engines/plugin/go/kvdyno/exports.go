package kvdyno

// #cgo CFLAGS: -O2
// #cgo LDFLAGS: -Wl,--wrap=pthread_create
// #include <stdlib.h>
// #include "table.h"
import "C"

import (
	"errors"
	"math"
	"runtime"
	"runtime/cgo"
	"sync"
	"syscall"
	"time"
	"unsafe"
)

// Values up to this size are copied into memory of the session: cheaper than a call out of Go.
const copiedMax = 4096

// The most bytes and records of a scan that are copied before a call out of Go shows them.
const (
	pageBytes   = 64 << 10
	pageRecords = 256
)

var engine struct {
	description *C.char
	open        func(*Opening) (Database, error)
}

// Register sets the plugin's description, as JSON, and the function that opens a database. The
// methods of the types of databases and sessions decide which functions of the header it has.
func Register[D Database, S Session](description string, open func(*Opening) (D, error)) {
	engine.description = C.CString(description)
	engine.open = func(o *Opening) (Database, error) { return open(o) }
	var database D
	var session S
	table := &C.kvdyno_go_table
	if _, has := any(session).(Remover); !has {
		table.remove = nil
	}
	if _, has := any(session).(Scanner); !has {
		table.scan = nil
	}
	if _, has := any(session).(Walker); !has {
		table.walk = nil
	}
	if _, has := any(session).(MultiGetter); !has {
		table.multiget = nil
	}
	if _, has := any(session).(Batcher); !has {
		table.write = nil
	}
	if _, has := any(session).(Transactor); !has {
		table.begin, table.commit, table.rollback, table.get_for_update = nil, nil, nil, nil
	}
	if _, has := any(database).(Settler); !has {
		table.settle = nil
	}
	if _, has := any(database).(Counter); !has {
		table.counters = nil
	}
	if _, has := any(database).(Eventful); !has {
		table.events = nil
	}
}

// The sessions whose address C has: the garbage collector must find them somewhere.
var live sync.Map

// One session, in Go. C has its address, so it is pinned.
type handle struct {
	session Session
	message *C.char
	pinner  runtime.Pinner
	// The receiver of the value of the get under way, and the method that passes the value to it.
	value *C.kvdyno_value
	show  func([]byte)
	// C memory, which lives until the session is closed.
	copied unsafe.Pointer
	page   page
	writes []Write
	// The keys of a multiget, the receiver of its values, and the method that passes them to it.
	keys   [][]byte
	values *C.kvdyno_values
	showAt func(int, []byte)
}

// Records that were copied and not shown yet.
type page struct {
	records *C.kvdyno_records
	shown   *[pageRecords]C.kvdyno_record
	bytes   *[pageBytes]byte
	count   int
	used    int
	left    uint64
	ended   bool
	add     func(key, value []byte) bool
}

//export kvdynoGoReady
func kvdynoGoReady() {}

//export kvdynoGoDescribe
func kvdynoGoDescribe() *C.char { return engine.description }

//export kvdynoGoOpen
func kvdynoGoOpen(opening *C.kvdyno_opening, database *unsafe.Pointer, message *C.char) C.int {
	o := &Opening{
		Dir:            C.GoString(opening.dir),
		Durability:     Durability(opening.durability),
		Records:        uint64(opening.records),
		RecordsMax:     uint64(opening.records_max),
		KeyBytes:       uint64(opening.key_bytes),
		ValueBytesMean: uint64(opening.value_bytes_mean),
		ValueBytesMax:  uint64(opening.value_bytes_max),
		Sessions:       uint64(opening.sessions),
		options:        map[string]option{},
	}
	for _, cOption := range unsafe.Slice(opening.options, opening.option_count) {
		value := option{kind: int(cOption.kind), integer: uint64(cOption.integer)}
		if cOption.text != nil {
			value.text = C.GoString(cOption.text)
		}
		o.options[C.GoString(cOption.name)] = value
	}
	db, err := engine.open(o)
	if err != nil {
		return reportError(err, message)
	}
	// A cgo.Handle is a number, which C may keep.
	*(*cgo.Handle)(unsafe.Pointer(database)) = cgo.NewHandle(db)
	return C.KVDYNO_OK
}

// findDatabase returns the database that C has the handle of.
func findDatabase(database unsafe.Pointer) Database {
	return cgo.Handle(uintptr(database)).Value().(Database)
}

//export kvdynoGoOpenSession
func kvdynoGoOpenSession(database unsafe.Pointer, message *C.char, session *unsafe.Pointer) C.int {
	goSession, err := findDatabase(database).OpenSession()
	if err != nil {
		return reportError(err, message)
	}
	h := &handle{session: goSession, message: message, copied: C.malloc(copiedMax)}
	h.show = h.showValue
	h.showAt = h.showValueAt
	h.page.shown = (*[pageRecords]C.kvdyno_record)(C.calloc(pageRecords, C.sizeof_kvdyno_record))
	h.page.bytes = (*[pageBytes]byte)(C.malloc(pageBytes))
	h.page.add = h.page.addRecord
	h.pinner.Pin(h)
	live.Store(h, nil)
	*session = unsafe.Pointer(h)
	return C.KVDYNO_OK
}

//export kvdynoGoCloseSession
func kvdynoGoCloseSession(session unsafe.Pointer) {
	h := (*handle)(session)
	h.session.Close()
	C.free(h.copied)
	C.free(unsafe.Pointer(h.page.shown))
	C.free(unsafe.Pointer(h.page.bytes))
	h.pinner.Unpin()
	live.Delete(h)
}

func (h *handle) showValue(value []byte) {
	if len(value) <= copiedMax {
		copy(unsafe.Slice((*byte)(h.copied), copiedMax), value)
		h.value.data, h.value.size = h.copied, C.size_t(len(value))
	} else {
		C.kvdyno_go_show_value(h.value, unsafe.Pointer(&value[0]), C.size_t(len(value)))
	}
}

//export kvdynoGoGet
func kvdynoGoGet(session, key unsafe.Pointer, size C.size_t, value *C.kvdyno_value) C.int {
	h := (*handle)(session)
	h.value = value
	return h.readResult(h.session.Get(bytes(key, size), h.show))
}

//export kvdynoGoGetForUpdate
func kvdynoGoGetForUpdate(session, key unsafe.Pointer, size C.size_t, value *C.kvdyno_value) C.int {
	h := (*handle)(session)
	h.value = value
	return h.readResult(h.session.(Transactor).GetForUpdate(bytes(key, size), h.show))
}

// readResult returns the result of a get.
func (h *handle) readResult(found bool, err error) C.int {
	if found && err == nil {
		return C.KVDYNO_OK
	}
	if err == nil {
		return C.KVDYNO_NOT_FOUND
	}
	return reportError(err, h.message)
}

//export kvdynoGoMultiGet
func kvdynoGoMultiGet(session unsafe.Pointer, keys *C.kvdyno_key, count C.size_t, values *C.kvdyno_values) C.int {
	h := (*handle)(session)
	h.keys, h.values = h.keys[:0], values
	for _, key := range unsafe.Slice(keys, count) {
		h.keys = append(h.keys, bytes(key.data, key.size))
	}
	return h.result(h.session.(MultiGetter).MultiGet(h.keys, h.showAt))
}

func (h *handle) showValueAt(index int, value []byte) {
	// With `value[:]`, cgo looks for pointers in these bytes alone, and not in all that has them.
	C.kvdyno_go_show_value_at(h.values, C.size_t(index), unsafe.Pointer(unsafe.SliceData(value[:])), C.size_t(len(value)))
}

//export kvdynoGoPut
func kvdynoGoPut(session, key unsafe.Pointer, keySize C.size_t, value unsafe.Pointer, valueSize C.size_t) C.int {
	h := (*handle)(session)
	return h.result(h.session.Put(bytes(key, keySize), bytes(value, valueSize)))
}

//export kvdynoGoRemove
func kvdynoGoRemove(session, key unsafe.Pointer, size C.size_t) C.int {
	h := (*handle)(session)
	return h.result(h.session.(Remover).Remove(bytes(key, size)))
}

//export kvdynoGoScan
func kvdynoGoScan(session unsafe.Pointer, bounds *C.kvdyno_range, records *C.kvdyno_records) C.int {
	h := (*handle)(session)
	h.page.begin(records, uint64(bounds.limit))
	return h.result(h.page.end(h.session.(Scanner).Scan(toRange(bounds), h.page.add)))
}

//export kvdynoGoWalk
func kvdynoGoWalk(session unsafe.Pointer, bounds *C.kvdyno_range, records *C.kvdyno_records) C.int {
	h := (*handle)(session)
	h.page.begin(records, uint64(bounds.limit))
	return h.result(h.page.end(h.session.(Walker).Walk(toRange(bounds), h.page.add)))
}

func toRange(bounds *C.kvdyno_range) Range {
	r := Range{Limit: uint64(bounds.limit), Reverse: bounds.reverse != 0}
	if bounds.from != nil {
		r.From = bytes(bounds.from, bounds.from_size)
	}
	if bounds.until != nil {
		r.Until = bytes(bounds.until, bounds.until_size)
	}
	return r
}

func (p *page) begin(records *C.kvdyno_records, limit uint64) {
	p.records, p.left, p.count, p.used, p.ended = records, limit, 0, 0, false
}

// end shows the records that are left, unless the scan failed, and returns the scan's error.
func (p *page) end(err error) error {
	if err == nil && !p.ended {
		p.flush()
	}
	return err
}

// flush shows the copied records, and returns whether kvdyno needs more.
func (p *page) flush() bool {
	if p.count > 0 {
		p.ended = C.kvdyno_go_show_records(p.records, &p.shown[0], C.size_t(p.count)) != 0
	}
	p.count, p.used = 0, 0
	return !p.ended
}

func (p *page) addRecord(key, value []byte) bool {
	size := len(key) + len(value)
	if p.count == pageRecords || p.used+size > pageBytes {
		if !p.flush() {
			return false
		}
	}
	p.left--
	if size > pageBytes {
		p.ended = C.kvdyno_go_show_record(p.records, unsafe.Pointer(unsafe.SliceData(key[:])), C.size_t(len(key)),
			unsafe.Pointer(unsafe.SliceData(value[:])), C.size_t(len(value))) != 0
		return !p.ended
	}
	to := p.bytes[p.used:]
	copy(to, key)
	copy(to[len(key):], value)
	start := unsafe.Add(unsafe.Pointer(p.bytes), p.used)
	p.shown[p.count] = C.kvdyno_record{
		key: start, key_size: C.size_t(len(key)),
		value: unsafe.Add(start, len(key)), value_size: C.size_t(len(value)),
	}
	p.count++
	p.used += size
	return p.left > 0 || p.flush()
}

//export kvdynoGoWrite
func kvdynoGoWrite(session unsafe.Pointer, writes *C.kvdyno_write, count C.size_t) C.int {
	h := (*handle)(session)
	h.writes = h.writes[:0]
	for _, write := range unsafe.Slice(writes, count) {
		h.writes = append(h.writes, Write{
			Removes: write.removes != 0,
			Key:     bytes(write.key, write.key_size),
			Value:   bytes(write.value, write.value_size),
		})
	}
	return h.result(h.session.(Batcher).Write(h.writes))
}

//export kvdynoGoBegin
func kvdynoGoBegin(session unsafe.Pointer) C.int {
	h := (*handle)(session)
	return h.result(h.session.(Transactor).Begin())
}

//export kvdynoGoCommit
func kvdynoGoCommit(session unsafe.Pointer) C.int {
	h := (*handle)(session)
	return h.result(h.session.(Transactor).Commit())
}

//export kvdynoGoRollback
func kvdynoGoRollback(session unsafe.Pointer) {
	(*handle)(session).session.(Transactor).Rollback()
}

//export kvdynoGoSettle
func kvdynoGoSettle(database unsafe.Pointer, limit C.uint64_t, idle *C.int, note, message *C.char) C.int {
	isIdle, work, err := findDatabase(database).(Settler).Settle(time.Duration(min(uint64(limit), math.MaxInt64)))
	if err != nil {
		return reportError(err, message)
	}
	if isIdle {
		*idle = 1
	}
	writeText(work, note)
	return C.KVDYNO_OK
}

//export kvdynoGoSync
func kvdynoGoSync(database unsafe.Pointer, message *C.char) C.int {
	if err := findDatabase(database).Sync(); err != nil {
		return reportError(err, message)
	}
	return C.KVDYNO_OK
}

//export kvdynoGoClose
func kvdynoGoClose(database unsafe.Pointer, message *C.char) C.int {
	err := findDatabase(database).Close()
	cgo.Handle(uintptr(database)).Delete()
	if err != nil {
		return reportError(err, message)
	}
	return C.KVDYNO_OK
}

//export kvdynoGoCounters
func kvdynoGoCounters(database unsafe.Pointer, counters *C.kvdyno_counters) {
	for name, value := range findDatabase(database).(Counter).Counters() {
		cName := C.CString(name)
		switch value := value.(type) {
		case uint64:
			C.kvdyno_go_add_integer(counters, cName, C.uint64_t(value))
		case float64:
			C.kvdyno_go_add_number(counters, cName, C.double(value))
		case string:
			text := C.CString(value)
			C.kvdyno_go_add_text(counters, cName, text)
			C.free(unsafe.Pointer(text))
		}
		C.free(unsafe.Pointer(cName))
	}
}

//export kvdynoGoEvents
func kvdynoGoEvents(database unsafe.Pointer, events *C.kvdyno_events) {
	for _, event := range findDatabase(database).(Eventful).Events() {
		detail := C.CString(event.Detail)
		at := C.uint64_t(event.At.UnixNano())
		C.kvdyno_go_add_event(events, at, C.int(event.Kind), C.int(event.Edge), detail)
		C.free(unsafe.Pointer(detail))
	}
}

func bytes(data unsafe.Pointer, size C.size_t) []byte {
	if size == 0 {
		return []byte{}
	}
	return unsafe.Slice((*byte)(data), size)
}

func (h *handle) result(err error) C.int {
	if err == nil {
		return C.KVDYNO_OK
	}
	return reportError(err, h.message)
}

// reportError writes the error to message, and returns its class.
func reportError(err error, message *C.char) C.int {
	writeText(err.Error(), message)
	var withClass *Error
	var errno syscall.Errno
	switch {
	case errors.As(err, &withClass) && withClass.Class >= Unsupported && withClass.Class <= Failed:
		return C.int(withClass.Class)
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return C.KVDYNO_FULL
	case errors.Is(err, syscall.ENOMEM):
		return C.KVDYNO_MEMORY
	case errors.Is(err, syscall.EINVAL):
		return C.KVDYNO_INVALID
	case errors.As(err, &errno):
		return C.KVDYNO_IO
	}
	return C.KVDYNO_OTHER
}

// writeText writes a text with its final zero, cut off where there is no more room.
func writeText(text string, to *C.char) {
	room := unsafe.Slice((*byte)(unsafe.Pointer(to)), C.KVDYNO_MESSAGE_BYTES)
	room[copy(room[:C.KVDYNO_MESSAGE_BYTES-1], text)] = 0
}
