// Badger's reads in a plain loop, to compare with the plugin's reads of the same database.
package main

import (
	"kvdyno/turns"

	"github.com/dgraph-io/badger/v4"
)

func main() {
	turns.Run(func(dir string) (func([]byte) error, error) {
		db, err := badger.Open(badger.DefaultOptions(dir).WithLogger(nil))
		touch := func(value []byte) error {
			turns.Touch(value)
			return nil
		}
		return func(key []byte) error {
			tx := db.NewTransaction(false)
			defer tx.Discard()
			item, err := tx.Get(key)
			if err != nil {
				return err
			}
			return item.Value(touch)
		}, err
	})
}
