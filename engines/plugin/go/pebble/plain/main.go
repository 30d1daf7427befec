// Pebble's reads in a plain loop, to compare with the plugin's reads of the same database.
package main

import (
	"kvdyno/turns"

	"github.com/cockroachdb/pebble/v2"
)

type quiet struct{}

func (quiet) Infof(string, ...any)  {}
func (quiet) Errorf(string, ...any) {}
func (quiet) Fatalf(string, ...any) {}

func main() {
	turns.Run(func(dir string) (func([]byte) error, error) {
		db, err := pebble.Open(dir, &pebble.Options{
			CacheSize:          1 << 30,
			FormatMajorVersion: pebble.FormatNewest,
			Logger:             quiet{},
		})
		return func(key []byte) error {
			value, closer, err := db.Get(key)
			if err != nil {
				return err
			}
			turns.Touch(value)
			return closer.Close()
		}, err
	})
}
