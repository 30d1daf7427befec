// bbolt, etcd's engine, as a plugin of kvdyno: one bucket in one file.
package main

import (
	"bytes"
	"errors"
	"path/filepath"
	"time"

	"kvdyno"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
)

var bucketName = []byte("records")

func main() {}

func init() { kvdyno.Register[*database, *session](describe(), open) }

type database struct {
	db          *bbolt.DB
	fillPercent float64
}

func open(o *kvdyno.Opening) (*database, error) {
	kvdyno.SetMemoryLimit(o)
	freelist := bbolt.FreelistArrayType
	if o.Text("freelist_type") == "hashmap" {
		freelist = bbolt.FreelistMapType
	}
	options := *bbolt.DefaultOptions
	options.Timeout = time.Second
	options.FreelistType = freelist
	options.NoFreelistSync = o.Bool("no_freelist_sync")
	options.InitialMmapSize = int(o.Integer("initial_mmap_size"))
	options.NoSync = o.Durability != kvdyno.Commit
	db, err := bbolt.Open(filepath.Join(o.Dir, "bbolt.db"), 0o644, &options)
	if err != nil {
		return nil, err
	}
	d := &database{db, float64(o.Integer("fill_percent")) / 100}
	err = db.Update(func(tx *bbolt.Tx) error {
		_, err := tx.CreateBucketIfNotExists(bucketName)
		return err
	})
	if err != nil {
		db.Close()
		return nil, err
	}
	return d, nil
}

func (d *database) OpenSession() (kvdyno.Session, error) { return &session{database: d}, nil }

func (d *database) Sync() error { return d.db.Sync() }

// Close syncs: without that, a class without syncs would lose data that its pages in memory have.
func (d *database) Close() error {
	return errors.Join(d.db.Sync(), d.db.Close())
}

func (d *database) Counters() map[string]any {
	stats := d.db.Stats()
	return map[string]any{
		"free_pages":    uint64(stats.FreePageN),
		"pending_pages": uint64(stats.PendingPageN),
		"free_alloc":    uint64(stats.FreeAlloc),
		"tx":            uint64(stats.TxN),
		"tx.page_alloc": uint64(stats.TxStats.GetPageAlloc()),
		"tx.rebalance":  uint64(stats.TxStats.GetRebalance()),
		"tx.split":      uint64(stats.TxStats.GetSplit()),
		"tx.spill":      uint64(stats.TxStats.GetSpill()),
		"tx.write":      uint64(stats.TxStats.GetWrite()),
	}
}

type session struct {
	database *database
	// The transaction under way.
	under *bbolt.Tx
}

func (s *session) Close() {}

func (s *session) Get(key []byte, show func([]byte)) (bool, error) {
	tx := s.under
	if tx == nil {
		var err error
		if tx, err = s.database.db.Begin(false); err != nil {
			return false, err
		}
	}
	value := tx.Bucket(bucketName).Get(key)
	if value != nil {
		show(value)
	}
	return value != nil, s.endRead(tx)
}

// endRead ends the transaction of a read, unless it is the one under way. None stays open between
// calls: a writer that must grow the map waits for all readers.
func (s *session) endRead(tx *bbolt.Tx) error {
	if tx == s.under {
		return nil
	}
	return tx.Rollback()
}

func (s *session) GetForUpdate(key []byte, show func([]byte)) (bool, error) {
	return s.Get(key, show)
}

func (s *session) bucket(tx *bbolt.Tx) *bbolt.Bucket {
	bucket := tx.Bucket(bucketName)
	bucket.FillPercent = s.database.fillPercent
	return bucket
}

// update makes a change in the transaction under way, or in one of its own.
func (s *session) update(change func(*bbolt.Bucket) error) error {
	if s.under != nil {
		return classifyError(change(s.bucket(s.under)))
	}
	return classifyError(s.database.db.Update(func(tx *bbolt.Tx) error { return change(s.bucket(tx)) }))
}

func (s *session) Put(key, value []byte) error {
	if s.under != nil {
		// bbolt keeps the value, but not the key, until the commit, which is another call.
		value = bytes.Clone(value)
	}
	return s.update(func(bucket *bbolt.Bucket) error { return bucket.Put(key, value) })
}

func (s *session) Remove(key []byte) error {
	return s.update(func(bucket *bbolt.Bucket) error { return bucket.Delete(key) })
}

func (s *session) Write(writes []kvdyno.Write) error {
	return s.update(func(bucket *bbolt.Bucket) error {
		for _, write := range writes {
			var err error
			if write.Removes {
				err = bucket.Delete(write.Key)
			} else {
				err = bucket.Put(write.Key, write.Value)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

func (s *session) Begin() error {
	var err error
	s.under, err = s.database.db.Begin(true)
	return err
}

func (s *session) Commit() error {
	tx := s.under
	s.under = nil
	return tx.Commit()
}

func (s *session) Rollback() {
	// The rollback of a transaction that has not ended cannot fail.
	_ = s.under.Rollback()
	s.under = nil
}

func (s *session) Scan(r kvdyno.Range, show func(key, value []byte) bool) error {
	tx := s.under
	if tx == nil {
		var err error
		if tx, err = s.database.db.Begin(false); err != nil {
			return err
		}
	}
	cursor := tx.Bucket(bucketName).Cursor()
	for key, value := seek(cursor, r); key != nil; key, value = step(cursor, r.Reverse) {
		if r.Until != nil && (bytes.Compare(key, r.Until) >= 0) != r.Reverse {
			break
		}
		if !show(key, value) {
			break
		}
	}
	return s.endRead(tx)
}

// seek moves to the first record of the range.
func seek(cursor *bbolt.Cursor, r kvdyno.Range) ([]byte, []byte) {
	switch {
	case r.From == nil && r.Reverse:
		return cursor.Last()
	case r.From == nil:
		return cursor.First()
	}
	key, value := cursor.Seek(r.From)
	switch {
	case !r.Reverse:
		return key, value
	case key == nil:
		return cursor.Last()
	case !bytes.Equal(key, r.From):
		return cursor.Prev()
	}
	return key, value
}

func step(cursor *bbolt.Cursor, reverse bool) ([]byte, []byte) {
	if reverse {
		return cursor.Prev()
	}
	return cursor.Next()
}

// classifyError gives a class to the errors with which bbolt refuses keys and values.
func classifyError(err error) error {
	for _, invalid := range []error{bolterrors.ErrKeyRequired, bolterrors.ErrKeyTooLarge, bolterrors.ErrValueTooLarge} {
		if errors.Is(err, invalid) {
			return &kvdyno.Error{Class: kvdyno.Invalid, Err: err}
		}
	}
	return err
}
