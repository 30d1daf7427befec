// Package turns times random reads as crates/testing/src/turns.rs does, for plain loops in Go.
package turns

import (
	"encoding/binary"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"syscall"
	"unsafe"
)

const (
	records = 1_000_000
	block   = 1000
	blocks  = 200
)

// Run prints how many nanoseconds of this thread's processor a round of reads took, after one that
// is not timed. The program's arguments are DIRECTORY read ROUND. The function that `open` returns
// shows the value of a key to Touch.
func Run(open func(dir string) (read func(key []byte) error, err error)) {
	runtime.LockOSThread()
	read, err := open(os.Args[1])
	if err != nil {
		fail(err)
	}
	round, err := strconv.ParseUint(os.Args[3], 10, 64)
	if err != nil {
		fail(err)
	}
	timeReads(round, read)
	fmt.Println(timeReads(round, read))
}

var sum uint64

// Touch looks at every byte of a value, eight at a time: Go does not vectorise a loop over bytes.
func Touch(value []byte) {
	for len(value) >= 8 {
		sum += binary.LittleEndian.Uint64(value)
		value = value[8:]
	}
	for _, b := range value {
		sum += uint64(b)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// timeReads returns how many nanoseconds of the processor a round of reads took.
func timeReads(state uint64, read func(key []byte) error) uint64 {
	var elapsed uint64
	var keys [block][16]byte
	for range blocks {
		for i := range keys {
			binary.BigEndian.PutUint64(keys[i][8:], next(&state)%records)
		}
		start := now()
		for i := range keys {
			if err := read(keys[i][:]); err != nil {
				fail(err)
			}
		}
		elapsed += now() - start
	}
	return elapsed
}

// now returns the processor time of this thread, in nanoseconds.
func now() uint64 {
	const threadCPUTime = 3
	var time syscall.Timespec
	syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, threadCPUTime, uintptr(unsafe.Pointer(&time)), 0)
	return uint64(time.Sec)*1_000_000_000 + uint64(time.Nsec)
}

// next returns the next number of SplitMix64.
func next(state *uint64) uint64 {
	*state += 0x9e3779b97f4a7c15
	z := (*state ^ (*state >> 30)) * 0xbf58476d1ce4e5b9
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb
	return z ^ (z >> 31)
}
