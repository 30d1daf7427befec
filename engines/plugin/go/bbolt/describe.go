package main

import "kvdyno"

const module = "go.etcd.io/bbolt"

const etcd = "github.com/etcd-io/etcd, server/storage/backend"

func describe() string {
	return `{
	"name": "bbolt", "title": "bbolt", "version": "` + kvdyno.ModuleVersion(module) + `",
	"build": ` + kvdyno.Build() + `,
	"capabilities": {
		"durability": {
			"async": {"settings": "NoSync = true: write(2), and no fdatasync(2)", "power_loss": "damages"},
			"commit": {"settings": "NoSync = false: fdatasync(2) in each commit", "power_loss": "keeps"}},
		"delete": true, "scan_forward": true, "scan_reverse": true, "batch": "atomic",
		"transactions": "serial", "atomic_read_modify_write": true, "concurrent_writers": 1,
		"key_bytes_max": 32768, "value_bytes_max": 2147483646},
	"options": [
		{"name": "freelist_type", "kind": {"choice": {"of": ["array", "hashmap"]}}, "default": "array",
			"help": "How free pages are kept in memory.",
			"presets": [{"preset": "tuned", "value": "hashmap", "reason": "etcd's setting: faster in almost all cases.",
				"source": "` + etcd + `"}]},
		{"name": "no_freelist_sync", "kind": "boolean", "default": false,
			"help": "Leaves the list of free pages out of the file; it is computed at the next open.",
			"presets": [{"preset": "tuned", "value": true, "reason": "etcd's setting: commits write less.",
				"source": "` + etcd + `"}]},
		{"name": "initial_mmap_size", "kind": "bytes", "default": 0,
			"help": "Size of the map at first: growing it waits for readers.",
			"presets": [{"preset": "tuned", "value": 10737418240, "reason": "etcd's setting: writers wait for no reader.",
				"source": "` + etcd + `"}]},
		{"name": "fill_percent", "kind": {"integer": {"min": 10, "max": 100}}, "default": 50,
			"help": "How full pages are that a split leaves."},
		` + kvdyno.MemoryLimit("90%") + `],
	"planning": {"space_factor": 3, "write_factor": 20, "ram_bytes_min": 67108864}
}`
}
