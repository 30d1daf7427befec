/*
 * What kvdyno's worker calls of WiredTiger, as flat functions.
 *
 * WiredTiger's API is structures of function pointers whose layout differs by version. This file is
 * compiled against the header of the library that it is linked with, so that the worker need not
 * know it; `kvdyno engines get` and `kvdyno engines build` do both. Nothing is decided here: each
 * function is a call or two, and gives WiredTiger's own return value.
 */
#include <stdio.h>
#include <string.h>
#include <wiredtiger.h>

#define API __attribute__((visibility("default")))

/* WiredTiger's message for this thread's last failing call. */
static __thread char last_error[1024];

static int
handle_error(WT_EVENT_HANDLER *handler, WT_SESSION *session, int error, const char *message)
{
    (void)handler;
    (void)session;
    snprintf(last_error, sizeof(last_error), "%s", message);
    /* One of WiredTiger's own threads may panic; its message would be lost. */
    if (error == WT_PANIC)
        fprintf(stderr, "WiredTiger: %s\n", message);
    return (0);
}

static int
ignore_message(WT_EVENT_HANDLER *handler, WT_SESSION *session, const char *message)
{
    (void)handler;
    (void)session;
    (void)message;
    return (0);
}

static WT_EVENT_HANDLER handler = {.handle_error = handle_error, .handle_message = ignore_message};

/* Raised with every change of a function below. */
API int
kvdyno_wiredtiger_shim(void)
{
    return (2);
}

API const char *
kvdyno_wiredtiger_version(int *major, int *minor, int *patch)
{
    return (wiredtiger_version(major, minor, patch));
}

/* Of the header; another than the library's, and no call below can be trusted. */
API void
kvdyno_wiredtiger_header(int *major, int *minor, int *patch)
{
    *major = WIREDTIGER_VERSION_MAJOR;
    *minor = WIREDTIGER_VERSION_MINOR;
    *patch = WIREDTIGER_VERSION_PATCH;
}

API int
kvdyno_wiredtiger_has_lsm(void)
{
#ifdef WT_STAT_CONN_LSM_CHECKPOINT_THROTTLE
    return (1);
#else
    return (0);
#endif
}

/* Compressors that are part of the library, where it lets their names be seen. */
extern int lz4_extension_init(WT_CONNECTION *, WT_CONFIG_ARG *) __attribute__((weak));
extern int snappy_extension_init(WT_CONNECTION *, WT_CONFIG_ARG *) __attribute__((weak));
extern int zlib_extension_init(WT_CONNECTION *, WT_CONFIG_ARG *) __attribute__((weak));
extern int zstd_extension_init(WT_CONNECTION *, WT_CONFIG_ARG *) __attribute__((weak));

API int
kvdyno_wiredtiger_has_compressor(const char *name)
{
    if (strcmp(name, "lz4") == 0)
        return (lz4_extension_init != NULL);
    if (strcmp(name, "snappy") == 0)
        return (snappy_extension_init != NULL);
    if (strcmp(name, "zlib") == 0)
        return (zlib_extension_init != NULL);
    return (strcmp(name, "zstd") == 0 && zstd_extension_init != NULL);
}

API const char *
kvdyno_wiredtiger_strerror(int error)
{
    return (wiredtiger_strerror(error));
}

/* Cleared once it is read. */
API void
kvdyno_wiredtiger_last_error(char *text, size_t size)
{
    snprintf(text, size, "%s", last_error);
    last_error[0] = '\0';
}

API int
kvdyno_wiredtiger_open(const char *home, const char *config, WT_CONNECTION **connection)
{
    return (wiredtiger_open(home, &handler, config, connection));
}

API int
kvdyno_wiredtiger_close(WT_CONNECTION *connection)
{
    return (connection->close(connection, NULL));
}

API int
kvdyno_wiredtiger_open_session(WT_CONNECTION *connection, const char *config, WT_SESSION **session)
{
    return (connection->open_session(connection, NULL, config, session));
}

API int
kvdyno_wiredtiger_close_session(WT_SESSION *session)
{
    return (session->close(session, NULL));
}

API int
kvdyno_wiredtiger_create(WT_SESSION *session, const char *uri, const char *config)
{
    return (session->create(session, uri, config));
}

API int
kvdyno_wiredtiger_open_cursor(
  WT_SESSION *session, const char *uri, const char *config, WT_CURSOR **cursor)
{
    return (session->open_cursor(session, uri, NULL, config, cursor));
}

API int
kvdyno_wiredtiger_close_cursor(WT_CURSOR *cursor)
{
    return (cursor->close(cursor));
}

API int
kvdyno_wiredtiger_begin(WT_SESSION *session)
{
    return (session->begin_transaction(session, NULL));
}

API int
kvdyno_wiredtiger_commit(WT_SESSION *session)
{
    return (session->commit_transaction(session, NULL));
}

API int
kvdyno_wiredtiger_rollback(WT_SESSION *session)
{
    return (session->rollback_transaction(session, NULL));
}

API int
kvdyno_wiredtiger_checkpoint(WT_SESSION *session)
{
    return (session->checkpoint(session, NULL));
}

API int
kvdyno_wiredtiger_log_flush(WT_SESSION *session)
{
    return (session->log_flush(session, "sync=on"));
}

static void
set_key(WT_CURSOR *cursor, const void *key, size_t size)
{
    WT_ITEM item = {.data = key, .size = size};
    cursor->set_key(cursor, &item);
}

/* The value lies in WiredTiger's page until the next call with this cursor. */
API int
kvdyno_wiredtiger_get(
  WT_CURSOR *cursor, const void *key, size_t key_size, const void **value, size_t *size)
{
    WT_ITEM item;
    int ret;

    set_key(cursor, key, key_size);
    if ((ret = cursor->search(cursor)) != 0 || (ret = cursor->get_value(cursor, &item)) != 0)
        return (ret);
    *value = item.data;
    *size = item.size;
    return (0);
}

API int
kvdyno_wiredtiger_reset(WT_CURSOR *cursor)
{
    return (cursor->reset(cursor));
}

API int
kvdyno_wiredtiger_put(
  WT_CURSOR *cursor, const void *key, size_t key_size, const void *value, size_t size)
{
    WT_ITEM item = {.data = value, .size = size};

    set_key(cursor, key, key_size);
    cursor->set_value(cursor, &item);
    return (cursor->insert(cursor));
}

API int
kvdyno_wiredtiger_remove(WT_CURSOR *cursor, const void *key, size_t key_size)
{
    set_key(cursor, key, key_size);
    return (cursor->remove(cursor));
}

API int
kvdyno_wiredtiger_reserve(WT_CURSOR *cursor, const void *key, size_t key_size)
{
    set_key(cursor, key, key_size);
    return (cursor->reserve(cursor));
}

API int
kvdyno_wiredtiger_step(WT_CURSOR *cursor, int backward)
{
    return (backward ? cursor->prev(cursor) : cursor->next(cursor));
}

/* To the key, or to the next there is in this direction. */
API int
kvdyno_wiredtiger_seek(WT_CURSOR *cursor, const void *key, size_t key_size, int backward)
{
    int exact, ret;

    set_key(cursor, key, key_size);
    if ((ret = cursor->search_near(cursor, &exact)) != 0)
        return (ret);
    return ((backward ? exact > 0 : exact < 0) ? kvdyno_wiredtiger_step(cursor, backward) : 0);
}

API int
kvdyno_wiredtiger_key(WT_CURSOR *cursor, const void **key, size_t *size)
{
    WT_ITEM item;
    int ret;

    if ((ret = cursor->get_key(cursor, &item)) != 0)
        return (ret);
    *key = item.data;
    *size = item.size;
    return (0);
}

API int
kvdyno_wiredtiger_value(WT_CURSOR *cursor, const void **value, size_t *size)
{
    WT_ITEM item;
    int ret;

    if ((ret = cursor->get_value(cursor, &item)) != 0)
        return (ret);
    *value = item.data;
    *size = item.size;
    return (0);
}

/* Tells every figure of a statistics cursor. */
API int
kvdyno_wiredtiger_statistics(
  WT_CURSOR *cursor, void (*tell)(void *, const char *, int64_t), void *state)
{
    const char *name, *text;
    int64_t value;
    int ret;

    while ((ret = cursor->next(cursor)) == 0) {
        if ((ret = cursor->get_value(cursor, &name, &text, &value)) != 0)
            return (ret);
        tell(state, name, value);
    }
    return (ret == WT_NOTFOUND ? 0 : ret);
}

/* The configuration of an object, from a metadata cursor; until the next call with the cursor. */
API int
kvdyno_wiredtiger_metadata(WT_CURSOR *cursor, const char *uri, const char **config)
{
    int ret;

    cursor->set_key(cursor, uri);
    if ((ret = cursor->search(cursor)) != 0)
        return (ret);
    return (cursor->get_value(cursor, config));
}
