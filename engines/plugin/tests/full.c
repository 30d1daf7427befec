/* Writes to an engine until writes fail because a file may not grow, then again with room. After a
 * reopening it checks that every acknowledged write is there, and that no thread of the engine has
 * a client's name. Usage: full LIBRARY DIRECTORY. */
#include "../include/kvdyno_engine.h"

#include <dirent.h>
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>

enum { KEYS = 64, LIMIT = 5000 };

static const kvdyno_engine *engine;
static void *database, *session;
static char message[KVDYNO_MESSAGE_BYTES];

static void expect(int holds, const char *what, int number) {
  if (holds) return;
  fprintf(stderr, "%s (%d): %s\n", what, number, message);
  exit(1);
}

static void open_all(const char *dir) {
  /* The options of all templates. */
  kvdyno_option options[] = {{"use_fsync", KVDYNO_BOOLEAN, 0, 0, NULL},
                             {"gomemlimit", KVDYNO_INTEGER, 0, 0, NULL}};
  kvdyno_opening opening = {dir, KVDYNO_COMMIT, options, 2, KEYS, KEYS, 1, 1000, 1000, 1};
  expect(engine->open(&opening, &database, message) == KVDYNO_OK, "open", 0);
  expect(engine->open_session(database, message, &session) == KVDYNO_OK, "open_session", 0);
}

static void close_all(void) {
  engine->close_session(session);
  expect(engine->close(database, message) == KVDYNO_OK, "close", 0);
}

static void limit_files(rlim_t bytes) {
  struct rlimit limit = {bytes, RLIM_INFINITY};
  expect(setrlimit(RLIMIT_FSIZE, &limit) == 0, "setrlimit", 0);
}

static void ignore_value(kvdyno_value *value, const void *data, size_t size) {
  (void)value, (void)data, (void)size;
}

/* Returns how many threads of this process have this name. */
static int count_threads(const char *name) {
  char path[300], found[32];
  int count = 0;
  DIR *tasks = opendir("/proc/self/task");
  for (struct dirent *task; (task = readdir(tasks)) != NULL;) {
    if (task->d_name[0] == '.') continue;
    snprintf(path, sizeof path, "/proc/self/task/%s/comm", task->d_name);
    FILE *file = fopen(path, "r");
    if (file == NULL) continue;
    if (fgets(found, sizeof found, file) != NULL) {
      found[strcspn(found, "\n")] = 0;
      count += strcmp(found, name) == 0;
    }
    fclose(file);
  }
  closedir(tasks);
  return count;
}

int main(int count, char **words) {
  char acknowledged[KEYS] = {0}, value[1000];
  int failures = 0;
  if (count != 3) return 2;
  memset(value, 'v', sizeof value);
  /* A write beyond the limit is an error, and not a signal. */
  signal(SIGXFSZ, SIG_IGN);
  /* The name of a client's thread. */
  prctl(PR_SET_NAME, "kvdyno-0");
  void *library = dlopen(words[1], RTLD_NOW);
  if (library == NULL) return fprintf(stderr, "%s\n", dlerror()), 1;
  const kvdyno_engine *(*get_engine)(void);
  *(void **)&get_engine = dlsym(library, "kvdyno_get_engine");
  engine = get_engine();
  open_all(words[2]);
  limit_files(LIMIT);
  for (char key = 0; key < KEYS; key++) {
    /* The second half of the keys has room again. */
    if (key == KEYS / 2) limit_files(RLIM_INFINITY);
    acknowledged[(int)key] = engine->put(session, &key, 1, value, sizeof value) == KVDYNO_OK;
    failures += !acknowledged[(int)key];
  }
  expect(failures > 0 && failures < KEYS, "failed writes", failures);
  close_all();
  open_all(words[2]);
  for (char key = 0; key < KEYS; key++) {
    kvdyno_value found = {ignore_value, NULL, 0};
    const int code = engine->get(session, &key, 1, &found);
    expect(!acknowledged[(int)key] || code == KVDYNO_OK, "an acknowledged write is gone", key);
  }
  expect(count_threads("kvdyno-0") == 1, "threads with a client's name", count_threads("kvdyno-0"));
  close_all();
  return 0;
}
