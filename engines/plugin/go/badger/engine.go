// Badger, Dgraph's engine, as a plugin of kvdyno.
package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"kvdyno"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/options"
)

func main() {}

func init() { kvdyno.Register[*database, *session](describe(), open) }

type database struct {
	db  *badger.DB
	dir string
}

func open(o *kvdyno.Opening) (*database, error) {
	kvdyno.SetMemoryLimit(o)
	if threads := o.Integer("gomaxprocs"); threads > 0 {
		runtime.GOMAXPROCS(int(threads))
	}
	compression := map[string]options.CompressionType{
		"none":   options.None,
		"snappy": options.Snappy,
		"zstd":   options.ZSTD,
	}[o.Text("compression")]
	settings := badger.DefaultOptions(o.Dir).
		WithLogger(nil).
		WithSyncWrites(o.Durability == kvdyno.Commit).
		WithMemTableSize(int64(o.Integer("mem_table_size"))).
		WithNumMemtables(int(o.Integer("num_memtables"))).
		WithNumLevelZeroTables(int(o.Integer("num_level_zero_tables"))).
		WithNumLevelZeroTablesStall(int(o.Integer("num_level_zero_tables_stall"))).
		WithNumCompactors(int(o.Integer("num_compactors"))).
		WithValueThreshold(int64(o.Integer("value_threshold"))).
		WithBlockSize(int(o.Integer("block_size"))).
		WithBlockCacheSize(int64(o.Integer("block_cache_size"))).
		WithIndexCacheSize(int64(o.Integer("index_cache_size"))).
		WithCompression(compression)
	db, err := badger.Open(settings)
	if err != nil {
		return nil, classifyError(err)
	}
	return &database{db, o.Dir}, nil
}

func (d *database) OpenSession() (kvdyno.Session, error) { return &session{db: d.db}, nil }

// Sync makes every write durable: Badger's own Sync leaves out memory tables that are full and not
// yet flushed, and logs of values before the newest.
func (d *database) Sync() error {
	if err := d.db.Sync(); err != nil {
		return err
	}
	for _, pattern := range []string{"*.mem", "*.vlog"} {
		files, err := filepath.Glob(filepath.Join(d.dir, pattern))
		if err != nil {
			return err
		}
		for _, file := range files {
			if err := syncFile(file); err != nil {
				return err
			}
		}
	}
	return syncFile(d.dir)
}

// syncFile syncs a file, or the names in a directory; one that was flushed and removed meanwhile
// needs none.
func syncFile(path string) error {
	file, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer file.Close()
	return file.Sync()
}

func (d *database) Close() error { return d.db.Close() }

// Settle waits until no level is over its size: Badger has no call that waits.
func (d *database) Settle(limit time.Duration) (bool, string, error) {
	const note = "levels within their sizes"
	deadline := time.Now().Add(limit)
	for idle := 0; idle < 3; time.Sleep(10 * time.Millisecond) {
		idle++
		for _, level := range d.db.Levels() {
			if level.Score >= 1 && level.Level < len(d.db.Levels())-1 {
				idle = 0
			}
		}
		if time.Now().After(deadline) {
			return false, note, nil
		}
	}
	return true, note, nil
}

func (d *database) Counters() map[string]any {
	counters := map[string]any{}
	for _, level := range d.db.Levels() {
		if level.NumTables > 0 {
			counters[fmt.Sprintf("level.%d.tables", level.Level)] = uint64(level.NumTables)
			counters[fmt.Sprintf("level.%d.size", level.Level)] = uint64(level.Size)
		}
	}
	if cache := d.db.BlockCacheMetrics(); cache != nil {
		counters["block_cache.hits"] = cache.Hits()
		counters["block_cache.misses"] = cache.Misses()
	}
	return counters
}

type session struct {
	db *badger.DB
	// The transaction under way.
	under *badger.Txn
	// The transaction, iterator and direction of a walk.
	walking *badger.Txn
	records *badger.Iterator
	reverse bool
}

func (s *session) Close() { s.endWalk() }

func (s *session) Get(key []byte, show func([]byte)) (bool, error) {
	tx := s.under
	if tx == nil {
		tx = s.db.NewTransaction(false)
		defer tx.Discard()
	}
	item, err := tx.Get(key)
	if err != nil {
		if errors.Is(err, badger.ErrKeyNotFound) {
			return false, nil
		}
		return false, classifyError(err)
	}
	err = item.Value(func(value []byte) error {
		show(value)
		return nil
	})
	return true, classifyError(err)
}

// GetForUpdate is a read: a transaction that writes fails if what it read was changed.
func (s *session) GetForUpdate(key []byte, show func([]byte)) (bool, error) {
	return s.Get(key, show)
}

// update makes a change in the transaction under way, or in one of its own.
func (s *session) update(change func(*badger.Txn) error) error {
	if s.under != nil {
		return classifyError(change(s.under))
	}
	return classifyError(s.db.Update(change))
}

// cloneForCommit copies a slice that Badger keeps until the commit, which is another call.
func (s *session) cloneForCommit(slice []byte) []byte {
	if s.under == nil {
		return slice
	}
	return bytes.Clone(slice)
}

func (s *session) Put(key, value []byte) error {
	key, value = s.cloneForCommit(key), s.cloneForCommit(value)
	return s.update(func(tx *badger.Txn) error { return tx.Set(key, value) })
}

func (s *session) Remove(key []byte) error {
	key = s.cloneForCommit(key)
	return s.update(func(tx *badger.Txn) error { return tx.Delete(key) })
}

func (s *session) Write(writes []kvdyno.Write) error {
	return s.update(func(tx *badger.Txn) error {
		for _, write := range writes {
			var err error
			if write.Removes {
				err = tx.Delete(write.Key)
			} else {
				err = tx.Set(write.Key, write.Value)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

func (s *session) Begin() error {
	s.under = s.db.NewTransaction(true)
	return nil
}

func (s *session) Commit() error {
	tx := s.under
	s.under = nil
	defer tx.Discard()
	return classifyError(tx.Commit())
}

func (s *session) Rollback() {
	s.under.Discard()
	s.under = nil
}

func (s *session) Scan(r kvdyno.Range, show func(key, value []byte) bool) error {
	tx := s.under
	if tx == nil {
		tx = s.db.NewTransaction(false)
		defer tx.Discard()
	}
	records := newIterator(tx, r)
	defer records.Close()
	for seek(records, r); records.Valid(); records.Next() {
		item := records.Item()
		if r.Until != nil && (bytes.Compare(item.Key(), r.Until) >= 0) != r.Reverse {
			break
		}
		if more, err := showItem(item, show); err != nil || !more {
			return err
		}
	}
	return nil
}

func newIterator(tx *badger.Txn, r kvdyno.Range) *badger.Iterator {
	options := badger.DefaultIteratorOptions
	options.Reverse = r.Reverse
	options.PrefetchSize = int(min(r.Limit, uint64(options.PrefetchSize)))
	return tx.NewIterator(options)
}

// seek moves to the first record of the range.
func seek(records *badger.Iterator, r kvdyno.Range) {
	if r.From == nil {
		records.Rewind()
	} else {
		records.Seek(r.From)
	}
}

func showItem(item *badger.Item, show func(key, value []byte) bool) (more bool, err error) {
	err = item.Value(func(value []byte) error {
		more = show(item.Key(), value)
		return nil
	})
	return more, err
}

// Walk keeps one transaction from its beginning to its end.
func (s *session) Walk(r kvdyno.Range, show func(key, value []byte) bool) error {
	goesOn := s.records != nil && s.reverse == r.Reverse && r.From != nil && s.records.Valid() &&
		bytes.Equal(s.records.Item().Key(), r.From)
	if !goesOn {
		s.endWalk()
		s.reverse = r.Reverse
		s.walking = s.db.NewTransaction(false)
		all := r
		all.Limit = uint64(badger.DefaultIteratorOptions.PrefetchSize)
		s.records = newIterator(s.walking, all)
		seek(s.records, r)
	}
	if r.From != nil && s.records.Valid() && bytes.Equal(s.records.Item().Key(), r.From) {
		s.records.Next()
	}
	for ; s.records.Valid(); s.records.Next() {
		if more, err := showItem(s.records.Item(), show); err != nil || !more {
			return err
		}
	}
	s.endWalk()
	return nil
}

func (s *session) endWalk() {
	if s.records != nil {
		s.records.Close()
		s.walking.Discard()
	}
	s.records, s.walking = nil, nil
}

// classifyError gives a class to errors of Badger's own.
func classifyError(err error) error {
	if err == nil {
		return nil
	}
	var class kvdyno.Class
	switch {
	case errors.Is(err, badger.ErrConflict):
		class = kvdyno.Conflict
	case errors.Is(err, badger.ErrEmptyKey), errors.Is(err, badger.ErrTxnTooBig),
		errors.Is(err, badger.ErrInvalidKey), strings.Contains(err.Error(), " with size "):
		class = kvdyno.Invalid
	default:
		return err
	}
	return &kvdyno.Error{Class: class, Err: err}
}
