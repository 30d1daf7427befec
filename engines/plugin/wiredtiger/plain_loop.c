/*
 * WiredTiger's reads in a plain loop in C: `engines/plugin/examples/plugin_reads.rs` compares the
 * plugin's reads with them.
 *
 * usage: plain_loop DIRECTORY read ROUND  prints the nanoseconds that the reads of a round took
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <wiredtiger.h>

#define RECORDS 1000000
#define BLOCK 1000
#define BLOCKS 200

static void
check(int ret)
{
    if (ret != 0) {
        fprintf(stderr, "%s\n", wiredtiger_strerror(ret));
        exit(1);
    }
}

static void
write_key(uint64_t number, uint8_t key[16])
{
    memset(key, 0, 16);
    for (int at = 15; at >= 8; at--, number >>= 8)
        key[at] = (uint8_t)number;
}

/* Returns the next number of SplitMix64. */
static uint64_t
next(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (z ^ (z >> 31));
}

/* Returns the processor time of this thread, on which others on the machine have less effect. */
static uint64_t
now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return ((uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec);
}

static uint64_t
read_all(WT_CURSOR *cursor, uint64_t state)
{
    static uint8_t keys[BLOCK][16];
    volatile uint64_t sink;
    uint64_t elapsed = 0, sum = 0;

    for (int block = 0; block < BLOCKS; block++) {
        for (int i = 0; i < BLOCK; i++)
            write_key(next(&state) % RECORDS, keys[i]);
        uint64_t start = now();
        for (int i = 0; i < BLOCK; i++) {
            WT_ITEM item = {.data = keys[i], .size = 16};
            cursor->set_key(cursor, &item);
            check(cursor->search(cursor));
            check(cursor->get_value(cursor, &item));
            for (size_t at = 0; at < item.size; at++)
                sum += ((const uint8_t *)item.data)[at];
            check(cursor->reset(cursor));
        }
        elapsed += now() - start;
    }
    sink = sum;
    (void)sink;
    return (elapsed);
}

int
main(int argc, char **argv)
{
    WT_CONNECTION *connection;
    WT_SESSION *session;
    WT_CURSOR *cursor;

    if (argc < 4)
        return (2);
    check(wiredtiger_open(argv[1], NULL, "create,cache_size=1GB,statistics=(fast)", &connection));
    check(connection->open_session(connection, NULL, NULL, &session));
    check(session->open_cursor(session, "table:kvdyno", NULL, NULL, &cursor));
    uint64_t round = strtoull(argv[3], NULL, 10);
    read_all(cursor, round);
    printf("%llu\n", (unsigned long long)read_all(cursor, round));
    check(connection->close(connection, NULL));
    return (0);
}
