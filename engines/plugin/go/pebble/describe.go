package main

import "kvdyno"

const module = "github.com/cockroachdb/pebble/v2"

// The source of those tuned settings that are as in Pebble's own benchmark.
const tool = "github.com/cockroachdb/pebble, cmd/pebble/db.go"

// tuned returns an option that Pebble's own benchmark sets, as JSON.
func tuned(name, kind, standard, help, value string) string {
	return `{"name": "` + name + `", "kind": ` + kind + `, "default": ` + standard + `, "help": "` + help + `",
		"presets": [{"preset": "tuned", "value": ` + value + `, "reason": "As in Pebble's own benchmark.",
			"source": "` + tool + `"}]}`
}

const count = `{"integer": {"min": 0, "max": 1000000}}`

func describe() string {
	return `{
	"name": "pebble", "title": "Pebble", "version": "` + kvdyno.ModuleVersion(module) + `",
	"build": ` + kvdyno.Build() + `,
	"capabilities": {
		"durability": {
			"none": {"settings": "pebble.NoSync: the log is written when 32 KiB are full", "power_loss": "loses_last"},
			"commit": {"settings": "pebble.Sync", "power_loss": "keeps"}},
		"delete": true, "scan_forward": true, "scan_reverse": true, "batch": "atomic",
		"concurrent_writers": null},
	"options": [
		{"name": "cache_size", "kind": "bytes", "default": 8388608, "help": "Cache of blocks.",
			"presets": [{"preset": "tuned", "value": "25%",
				"reason": "What CockroachDB recommends for its cache, which is Pebble's.",
				"source": "cockroachlabs.com/docs, cockroach start, flag --cache"}]},
		` + tuned("mem_table_size", `"bytes"`, "4194304", "Size of a memory table.", "67108864") + `,
		` + tuned("mem_table_stop_writes_threshold", count, "2", "Memory tables at which writes stop.", "4") + `,
		` + tuned("l0_compaction_threshold", count, "4", "Sublevels of level 0 that start a compaction.", "2") + `,
		` + tuned("l0_stop_writes_threshold", count, "12", "Sublevels of level 0 at which writes stop.", "1000") + `,
		` + tuned("compaction_concurrency", count, "1", "Most compactions at a time.", "3") + `,
		` + tuned("max_open_files", count, "1000", "Most open files.", "16384") + `,
		` + tuned("block_size", `"bytes"`, "4096", "Size of a block of data.", "32768") + `,
		` + tuned("index_block_size", `"bytes"`, "4096", "Size of a block of an index.", "262144") + `,
		` + tuned("bloom_bits", count, "0", "Bits of a Bloom filter per key, in all levels but the last; 0: none.", "10") + `,
		{"name": "compression", "kind": {"choice": {"of": ["snappy", "none", "zstd"]}}, "default": "snappy",
			"help": "Compression of blocks."},
		` + kvdyno.MemoryLimit("60%") + `],
	"planning": {"space_factor": 2.5, "write_factor": 6, "ram_bytes_min": 67108864}
}`
}
