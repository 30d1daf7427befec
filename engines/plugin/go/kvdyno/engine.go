// Package kvdyno is kvdyno_engine.h for engines in Go. The main package of a plugin calls
// [Register] in its init, and is built with
//
//	go build -buildmode=c-shared -o libkvdyno-NAME.so
//
// The header has the rules. Keys and values are valid until the call that passes them returns.
package kvdyno

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"time"
)

// Durability is what a finished write survives.
type Durability int

// The classes of kvdyno_durability.
const (
	None Durability = iota
	Async
	Commit
)

// Opening is how to open a database.
type Opening struct {
	Dir            string
	Durability     Durability
	Records        uint64
	RecordsMax     uint64
	KeyBytes       uint64
	ValueBytesMean uint64
	ValueBytesMax  uint64
	Sessions       uint64
	options        map[string]option
}

// The kinds of kvdyno_kind.
const (
	kindBoolean = 0
	kindInteger = 1
	kindText    = 3
)

// A value of an option; the kind says which.
type option struct {
	kind    int
	integer uint64
	text    string
}

// Integer returns the value of an option: a number, or bytes.
func (o *Opening) Integer(name string) uint64 { return o.option(name, kindInteger, "integer").integer }

// Bool returns the value of an option of kind boolean.
func (o *Opening) Bool(name string) bool { return o.option(name, kindBoolean, "boolean").integer != 0 }

// Text returns the value of an option: a text, or a word of a choice.
func (o *Opening) Text(name string) string { return o.option(name, kindText, "text").text }

// option returns the option of this name and kind; it ends the process if there is none.
func (o *Opening) option(name string, kind int, kindName string) option {
	value, has := o.options[name]
	if has && value.kind == kind {
		return value
	}
	found := "none"
	if has {
		found = "another kind"
	}
	fmt.Fprintf(os.Stderr, "error: expected an option `%s` of kind %s, found %s\nhint: `describe` lists the options\n", name, kindName, found)
	os.Exit(1)
	return value
}

// Database is an open database. Any goroutine may use it.
type Database interface {
	OpenSession() (Session, error)
	// Sync makes all writes so far durable.
	Sync() error
	Close() error
}

// Session is the handle of one thread.
type Session interface {
	// Get shows the value of a key once, or returns false.
	Get(key []byte, show func(value []byte)) (bool, error)
	Put(key, value []byte) error
	Close()
}

// Remover is a Session with capability delete.
type Remover interface {
	Remove(key []byte) error
}

// Range is the records of a scan, and their order. A From or Until of nil is no bound.
type Range struct {
	From, Until []byte
	Limit       uint64
	Reverse     bool
}

// Scanner is a Session with capability scan_forward or scan_reverse. It shows records until show
// returns false. From and Until are as in the header.
type Scanner interface {
	Scan(r Range, show func(key, value []byte) bool) error
}

// Walker is a Session that keeps the iterator of a walk open from call to call.
type Walker interface {
	Walk(r Range, show func(key, value []byte) bool) error
}

// MultiGetter is a Session with capability native_multiget: it shows the values of the keys that
// exist, each with its key's index, once.
type MultiGetter interface {
	MultiGet(keys [][]byte, show func(index int, value []byte)) error
}

// Write is one write of a batch.
type Write struct {
	Removes    bool
	Key, Value []byte
}

// Batcher is a Session with capability batch.
type Batcher interface {
	Write(writes []Write) error
}

// Transactor is a Session with capability transactions: from Begin to Commit or Rollback, its calls
// belong to the transaction.
type Transactor interface {
	Begin() error
	Commit() error
	Rollback()
	GetForUpdate(key []byte, show func(value []byte)) (bool, error)
}

// Settler is a Database with background work to wait for.
type Settler interface {
	// Settle waits at most limit. It returns whether no work is left, and what it waited for.
	Settle(limit time.Duration) (bool, string, error)
}

// Counter is a Database with statistics, which are of type uint64, float64 or string.
type Counter interface {
	Counters() map[string]any
}

// Eventful is a Database that reports its background work: Events returns the events since the last
// call.
type Eventful interface {
	Events() []Event
}

// Event is one of kvdyno_events.
type Event struct {
	At     time.Time
	Kind   EventKind
	Edge   Edge
	Detail string
}

// EventKind is a kind of background work.
type EventKind int

// The kinds of kvdyno_event_kind.
const (
	Flush EventKind = iota
	Compaction
	Checkpoint
	Stall
	Other
)

// Edge is where an event stands in time.
type Edge int

// The edges of kvdyno_edge.
const (
	Begin Edge = iota
	End
	Point
)

// Class is the class of an error.
type Class int

// The results of the header that are errors.
const (
	Unsupported Class = iota + 2
	Invalid
	Full
	Memory
	Corrupt
	Conflict
	Unavailable
	IO
	Failed
)

// Error is an error with its class. Any other error gets the class of the operating system's error
// that it wraps.
type Error struct {
	Class Class
	Err   error
}

func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns the engine's own error.
func (e *Error) Unwrap() error { return e.Err }

// MemoryLimit returns the option `gomemlimit` for the description, as JSON. Go's garbage collector
// must know the RAM limit, or it lets the process grow past it. `share` is the tuned value, a share
// of RAM without the memory that the engine has from C, which is not Go's.
func MemoryLimit(share string) string {
	return `{"name": "gomemlimit", "kind": "bytes", "default": 0,
	"help": "Soft limit of memory that the Go runtime manages (GOMEMLIMIT); 0: none.",
	"presets": [{"preset": "tuned", "value": "` + share + `",
		"reason": "Go's guide to its garbage collector: leave 5 to 10 % of a container's memory to what the runtime does not know of, and all that is not Go's.",
		"source": "go.dev/doc/gc-guide, Suggested uses"}]}`
}

// memoryLimit is the limit that the process began with.
var memoryLimit = debug.SetMemoryLimit(-1)

// SetMemoryLimit sets the limit of option `gomemlimit`; 0 stands for the limit that the process
// began with.
func SetMemoryLimit(o *Opening) {
	limit := memoryLimit
	if size := o.Integer("gomemlimit"); size > 0 {
		limit = int64(size)
	}
	debug.SetMemoryLimit(limit)
}

// ModuleVersion returns the version of a module that this plugin was built with, without its `v`.
func ModuleVersion(path string) string {
	info, _ := debug.ReadBuildInfo()
	for _, module := range info.Deps {
		if module.Path == path {
			return strings.TrimPrefix(module.Version, "v")
		}
	}
	return "unknown"
}

// Build returns the facts of the build that decide the speed of code in Go, as JSON.
func Build() string {
	facts := map[string]string{"go": runtime.Version()}
	info, _ := debug.ReadBuildInfo()
	for _, setting := range info.Settings {
		if setting.Key == "GOAMD64" || setting.Key == "-tags" {
			facts[setting.Key] = setting.Value
		}
	}
	text, _ := json.Marshal(facts)
	return string(text)
}
