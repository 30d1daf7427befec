// bbolt's reads in a plain loop, to compare with the plugin's reads of the same database.
package main

import (
	"errors"
	"path/filepath"

	"kvdyno/turns"

	"go.etcd.io/bbolt"
)

func main() {
	bucket := []byte("records")
	turns.Run(func(dir string) (func([]byte) error, error) {
		db, err := bbolt.Open(filepath.Join(dir, "bbolt.db"), 0o644, nil)
		return func(key []byte) error {
			tx, err := db.Begin(false)
			if err != nil {
				return err
			}
			value := tx.Bucket(bucket).Get(key)
			if value == nil {
				return errors.New("a record is missing")
			}
			turns.Touch(value)
			return tx.Rollback()
		}, err
	})
}
