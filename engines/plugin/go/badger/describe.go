package main

import "kvdyno"

const module = "github.com/dgraph-io/badger/v4"

const count = `{"integer": {"min": 1, "max": 1000000}}`

func describe() string {
	return `{
	"name": "badger", "title": "Badger", "version": "` + kvdyno.ModuleVersion(module) + `",
	"build": ` + kvdyno.Build() + `,
	"capabilities": {
		"durability": {
			"async": {"settings": "SyncWrites = false: a log that is mapped", "power_loss": "damages"},
			"commit": {"settings": "SyncWrites = true: msync(2) of the log in each commit", "power_loss": "keeps"}},
		"delete": true, "scan_forward": true, "scan_reverse": true, "batch": "atomic",
		"transactions": "optimistic", "atomic_read_modify_write": true,
		"key_bytes_max": 65000, "value_bytes_max": 1073741823},
	"options": [
		{"name": "mem_table_size", "kind": "bytes", "default": 67108864, "help": "Size of a memory table."},
		{"name": "num_memtables", "kind": ` + count + `, "default": 5, "help": "Memory tables at which writes stop."},
		{"name": "num_level_zero_tables", "kind": ` + count + `, "default": 5,
			"help": "Tables of level 0 that start a compaction."},
		{"name": "num_level_zero_tables_stall", "kind": ` + count + `, "default": 15,
			"help": "Tables of level 0 at which writes stop."},
		{"name": "num_compactors", "kind": {"integer": {"min": 2, "max": 64}}, "default": 4,
			"help": "Most compactions at a time."},
		{"name": "value_threshold", "kind": "bytes", "default": 1048576,
			"help": "Values of this size and more go to the value log."},
		{"name": "block_size", "kind": "bytes", "default": 4096, "help": "Size of a block of a table."},
		{"name": "block_cache_size", "kind": "bytes", "default": 268435456,
			"help": "Cache of blocks; it must not be 0 with compression.",
			"presets": [{"preset": "tuned", "value": "25%",
				"reason": "A cache is recommended with compression, and 256 MB may not fit the RAM limit.",
				"source": "github.com/dgraph-io/badger, options.go, WithBlockCacheSize"}]},
		{"name": "index_cache_size", "kind": "bytes", "default": 0,
			"help": "Cache of indices and filters; 0: all are in memory."},
		{"name": "compression", "kind": {"choice": {"of": ["snappy", "none", "zstd"]}}, "default": "snappy",
			"help": "Compression of blocks."},
		{"name": "gomaxprocs", "kind": {"integer": {"min": 0, "max": 1024}}, "default": 0,
			"help": "Threads that run code of Go (GOMAXPROCS); 0: one per processor.",
			"presets": [{"preset": "tuned", "value": 128,
				"reason": "Go then sees the full rate of requests of an SSD; Dgraph's own setting.",
				"source": "github.com/dgraph-io/badger, docs/troubleshooting.md"}]},
		` + kvdyno.MemoryLimit("90%") + `],
	"planning": {"space_factor": 3, "write_factor": 6, "ram_bytes_min": 268435456}
}`
}
