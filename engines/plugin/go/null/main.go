// The engine that does nothing, in Go: the difference of its figures from those of engine `null` is
// the cost of a call into Go.
package main

import "kvdyno"

const description = `{
	"name": "null-go", "title": "Null in Go", "version": "1",
	"capabilities": {
		"durability": {"none": {"settings": "nothing is written", "power_loss": "loses_all"}},
		"stores_nothing": true},
	"planning": {"space_factor": 0, "write_factor": 0, "ram_bytes_min": 16777216}
}`

func main() {}

func init() { kvdyno.Register[*null, *session](description, open) }

type null struct{ value []byte }

type session struct{ value []byte }

func open(o *kvdyno.Opening) (*null, error) {
	return &null{make([]byte, o.ValueBytesMean)}, nil
}

func (n *null) OpenSession() (kvdyno.Session, error) { return &session{n.value}, nil }

func (n *null) Sync() error { return nil }

func (n *null) Close() error { return nil }

func (s *session) Get(_ []byte, show func([]byte)) (bool, error) {
	show(s.value)
	return true, nil
}

func (s *session) Put(_, _ []byte) error { return nil }

func (s *session) Close() {}
