/* Two threads that compute, in functions that a test knows. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <time.h>

static volatile unsigned long sink;
static volatile int stop;

static inline __attribute__((always_inline)) unsigned long folded(unsigned long n) {
    unsigned long sum = 0;
    for (unsigned long i = 0; i < n; i++) sum = sum * 31 + (i ^ sum);
    return sum;
}

__attribute__((noinline)) unsigned long engine_inner(unsigned long n) {
    char padding[1024];
    snprintf(padding, sizeof padding, "%lu", n);
    return folded(n) + padding[0];
}

__attribute__((noinline)) unsigned long engine_outer(unsigned long n) {
    return engine_inner(n) * 3 + 1;
}

static void *call_engine(void *unused) {
    pthread_setname_np(pthread_self(), "kvdyno-0");
    while (!stop) sink += engine_outer(50000);
    return unused;
}

static void *flush(void *unused) {
    struct timespec now;
    pthread_setname_np(pthread_self(), "flush-3");
    while (!stop) {
        clock_gettime(CLOCK_MONOTONIC, &now);
        sink += folded(100) + now.tv_nsec;
    }
    return unused;
}

int main(void) {
    pthread_t threads[2];
    getchar();
    pthread_create(&threads[0], 0, call_engine, 0);
    pthread_create(&threads[1], 0, flush, 0);
    while (getchar() != EOF) {}
    stop = 1;
    for (int i = 0; i < 2; i++) pthread_join(threads[i], 0);
    return 0;
}
