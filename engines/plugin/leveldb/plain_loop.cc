// LevelDB's reads in a plain loop in C++: `engines/plugin/examples/plugin_reads.rs` compares the
// plugin's reads with them.
//
// usage: plain_loop DIRECTORY read ROUND  prints the nanoseconds that the reads of a round took
#include <leveldb/cache.h>
#include <leveldb/db.h>
#include <time.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

constexpr uint64_t kRecords = 1000000;
constexpr int kBlock = 1000;
constexpr int kBlocks = 200;

void Check(const leveldb::Status& status) {
  if (!status.ok()) {
    std::fprintf(stderr, "%s\n", status.ToString().c_str());
    std::exit(1);
  }
}

void WriteKey(uint64_t number, char key[16]) {
  std::memset(key, 0, 16);
  for (int at = 15; at >= 8; at--, number >>= 8) key[at] = static_cast<char>(number);
}

// Returns the next number of SplitMix64.
uint64_t Next(uint64_t* state) {
  uint64_t z = *state += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

// Returns the processor time of this thread, on which others on the machine have less effect.
uint64_t Now() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1000000000u + static_cast<uint64_t>(time.tv_nsec);
}

uint64_t ReadAll(leveldb::DB* db, uint64_t state) {
  static char keys[kBlock][16];
  volatile uint64_t sink;
  uint64_t elapsed = 0, sum = 0;
  std::string value;
  for (int block = 0; block < kBlocks; block++) {
    for (auto& key : keys) WriteKey(Next(&state) % kRecords, key);
    const uint64_t start = Now();
    for (const auto& key : keys) {
      Check(db->Get(leveldb::ReadOptions(), leveldb::Slice(key, 16), &value));
      for (const char byte : value) sum += static_cast<unsigned char>(byte);
    }
    elapsed += Now() - start;
  }
  sink = sum;
  (void)sink;
  return elapsed;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  leveldb::Options options;
  options.block_cache = leveldb::NewLRUCache(1u << 30);
  leveldb::DB* db;
  Check(leveldb::DB::Open(options, argv[1], &db));
  const uint64_t round = std::strtoull(argv[3], nullptr, 10);
  ReadAll(db, round);
  std::printf("%llu\n", static_cast<unsigned long long>(ReadAll(db, round)));
  delete db;
  delete options.block_cache;
  return 0;
}
