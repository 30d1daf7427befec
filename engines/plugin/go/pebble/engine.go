// Pebble, CockroachDB's engine, as a plugin of kvdyno.
package main

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"kvdyno"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/sstable"
)

func main() {}

func init() { kvdyno.Register[*database, *session](describe(), open) }

type database struct {
	db     *pebble.DB
	write  *pebble.WriteOptions
	mutex  sync.Mutex
	events []kvdyno.Event
}

// Pebble ends the process after an error that it cannot survive, such as a full volume.
type logger struct{}

func (logger) Infof(string, ...any)  {}
func (logger) Errorf(string, ...any) {}
func (logger) Fatalf(format string, arguments ...any) {
	fmt.Fprintf(os.Stderr, "error: Pebble: "+format+"\n", arguments...)
	os.Exit(1)
}

func open(o *kvdyno.Opening) (*database, error) {
	kvdyno.SetMemoryLimit(o)
	d := &database{write: pebble.NoSync}
	if o.Durability == kvdyno.Commit {
		d.write = pebble.Sync
	}
	cache := pebble.NewCache(int64(o.Integer("cache_size")))
	defer cache.Unref()
	compactions := int(o.Integer("compaction_concurrency"))
	options := &pebble.Options{
		Cache:                       cache,
		CompactionConcurrencyRange:  func() (int, int) { return 1, max(compactions, 1) },
		EventListener:               d.listener(),
		FormatMajorVersion:          pebble.FormatNewest,
		L0CompactionThreshold:       int(o.Integer("l0_compaction_threshold")),
		L0StopWritesThreshold:       int(o.Integer("l0_stop_writes_threshold")),
		Logger:                      logger{},
		MaxOpenFiles:                int(o.Integer("max_open_files")),
		MemTableSize:                o.Integer("mem_table_size"),
		MemTableStopWritesThreshold: int(o.Integer("mem_table_stop_writes_threshold")),
	}
	compression := map[string]*sstable.CompressionProfile{
		"none":   sstable.NoCompression,
		"snappy": sstable.SnappyCompression,
		"zstd":   sstable.ZstdCompression,
	}[o.Text("compression")]
	for i := range options.Levels {
		level := &options.Levels[i]
		level.BlockSize = int(o.Integer("block_size"))
		level.IndexBlockSize = int(o.Integer("index_block_size"))
		level.Compression = func() *sstable.CompressionProfile { return compression }
		// A filter of the last level would only help keys that do not exist.
		if bits := o.Integer("bloom_bits"); bits > 0 && i < len(options.Levels)-1 {
			level.FilterPolicy = bloom.FilterPolicy(bits)
			level.FilterType = pebble.TableFilter
		}
	}
	if last := &options.Levels[len(options.Levels)-1]; o.Integer("bloom_bits") > 0 {
		last.FilterPolicy = pebble.NoFilterPolicy
	}
	var err error
	d.db, err = pebble.Open(o.Dir, options)
	return d, err
}

func (d *database) OpenSession() (kvdyno.Session, error) {
	return &session{db: d.db, write: d.write}, nil
}

// Sync also covers the writes before it that were not synced.
func (d *database) Sync() error { return d.db.LogData(nil, pebble.Sync) }

func (d *database) Close() error { return d.db.Close() }

// Settle writes the memory table, and waits until no compaction runs.
func (d *database) Settle(limit time.Duration) (bool, string, error) {
	const note = "memtable flushed, no compaction in progress"
	deadline := time.Now().Add(limit)
	flushed, err := d.db.AsyncFlush()
	if err != nil {
		return false, "", err
	}
	select {
	case <-flushed:
	case <-time.After(limit):
		return false, note, nil
	}
	for idle := 0; idle < 3; time.Sleep(10 * time.Millisecond) {
		if metrics := d.db.Metrics(); metrics.Compact.NumInProgress == 0 && metrics.Flush.NumInProgress == 0 {
			idle++
		} else {
			idle = 0
		}
		if time.Now().After(deadline) {
			return false, note, nil
		}
	}
	return true, note, nil
}

func (d *database) Counters() map[string]any {
	metrics := d.db.Metrics()
	return map[string]any{
		"compact.count":          uint64(metrics.Compact.Count),
		"compact.estimated_debt": metrics.Compact.EstimatedDebt,
		"flush.count":            uint64(metrics.Flush.Count),
		"block_cache.hits":       uint64(metrics.BlockCache.Hits),
		"block_cache.misses":     uint64(metrics.BlockCache.Misses),
		"block_cache.size":       uint64(metrics.BlockCache.Size),
		"mem_table.size":         metrics.MemTable.Size,
		"wal.bytes_in":           metrics.WAL.BytesIn,
		"wal.bytes_written":      metrics.WAL.BytesWritten,
		"levels.0.sublevels":     uint64(max(metrics.Levels[0].Sublevels, 0)),
		"disk_space_usage":       metrics.DiskSpaceUsage(),
		"read_amplification":     uint64(metrics.ReadAmp()),
	}
}

func (d *database) Events() []kvdyno.Event {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	events := d.events
	d.events = nil
	return events
}

func (d *database) listener() *pebble.EventListener {
	add := func(kind kvdyno.EventKind, edge kvdyno.Edge, detail string) {
		d.mutex.Lock()
		defer d.mutex.Unlock()
		d.events = append(d.events, kvdyno.Event{At: time.Now(), Kind: kind, Edge: edge, Detail: detail})
	}
	return &pebble.EventListener{
		FlushBegin:      func(i pebble.FlushInfo) { add(kvdyno.Flush, kvdyno.Begin, i.String()) },
		FlushEnd:        func(i pebble.FlushInfo) { add(kvdyno.Flush, kvdyno.End, i.String()) },
		CompactionBegin: func(i pebble.CompactionInfo) { add(kvdyno.Compaction, kvdyno.Begin, i.String()) },
		CompactionEnd:   func(i pebble.CompactionInfo) { add(kvdyno.Compaction, kvdyno.End, i.String()) },
		WriteStallBegin: func(i pebble.WriteStallBeginInfo) { add(kvdyno.Stall, kvdyno.Begin, i.Reason) },
		WriteStallEnd:   func() { add(kvdyno.Stall, kvdyno.End, "") },
	}
}

type session struct {
	db    *pebble.DB
	write *pebble.WriteOptions
	bound []byte
	// The iterator of a walk.
	walking *pebble.Iterator
}

func (s *session) Close() { s.endWalk() }

func (s *session) Get(key []byte, show func([]byte)) (bool, error) {
	value, closer, err := s.db.Get(key)
	if err != nil {
		if errors.Is(err, pebble.ErrNotFound) {
			err = nil
		}
		return false, err
	}
	show(value)
	return true, closer.Close()
}

func (s *session) Put(key, value []byte) error { return s.db.Set(key, value, s.write) }

func (s *session) Remove(key []byte) error { return s.db.Delete(key, s.write) }

func (s *session) Write(writes []kvdyno.Write) error {
	batch := s.db.NewBatch()
	defer batch.Close()
	for _, write := range writes {
		var err error
		if write.Removes {
			err = batch.Delete(write.Key, nil)
		} else {
			err = batch.Set(write.Key, write.Value, nil)
		}
		if err != nil {
			return err
		}
	}
	return batch.Commit(s.write)
}

func (s *session) Scan(r kvdyno.Range, show func(key, value []byte) bool) error {
	bounds := &pebble.IterOptions{UpperBound: r.Until}
	if r.Reverse {
		bounds = &pebble.IterOptions{LowerBound: r.Until}
	}
	records, err := s.db.NewIter(bounds)
	if err != nil {
		return err
	}
	for valid := s.seek(records, r, false); valid; valid = step(records, r.Reverse) {
		if !show(records.Key(), records.Value()) {
			break
		}
	}
	return records.Close()
}

// seek moves to the first record of the range; with leftOut, the one at `From` is not in the range.
func (s *session) seek(records *pebble.Iterator, r kvdyno.Range, leftOut bool) bool {
	if r.From == nil && r.Reverse {
		return records.Last()
	}
	if r.From == nil {
		return records.First()
	}
	// The first key behind `From`.
	s.bound = append(append(s.bound[:0], r.From...), 0)
	switch {
	case r.Reverse && leftOut:
		return records.SeekLT(r.From)
	case r.Reverse:
		return records.SeekLT(s.bound)
	case leftOut:
		return records.SeekGE(s.bound)
	default:
		return records.SeekGE(r.From)
	}
}

func step(records *pebble.Iterator, reverse bool) bool {
	if reverse {
		return records.Prev()
	}
	return records.Next()
}

// Walk keeps one iterator, and so one state of the database, from its beginning to its end.
func (s *session) Walk(r kvdyno.Range, show func(key, value []byte) bool) error {
	var valid bool
	if s.walking != nil && r.From != nil && s.walking.Valid() && string(s.walking.Key()) == string(r.From) {
		valid = step(s.walking, r.Reverse)
	} else {
		s.endWalk()
		var err error
		if s.walking, err = s.db.NewIter(nil); err != nil {
			s.walking = nil
			return err
		}
		valid = s.seek(s.walking, r, true)
	}
	for ; valid; valid = step(s.walking, r.Reverse) {
		if !show(s.walking.Key(), s.walking.Value()) {
			return nil
		}
	}
	return s.endWalk()
}

func (s *session) endWalk() error {
	if s.walking == nil {
		return nil
	}
	err := s.walking.Close()
	s.walking = nil
	return err
}
