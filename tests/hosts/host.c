/* A host program for platforms that have no other. It reads statements from standard input, one per line. Lines that begin with `--` or `.` are passed over.
 *
 *   host LIBRARY         prints the rows of each statement as tests/hosts/host.rs does, which runs tests/hosts/session.sql
 *   host LIBRARY bits    prints name, number of rows and a hash of all values of each statement with columns: bits.sql
 *   host LIBRARY shell   reads statements of several lines, prints a line for each row, and stops at an error
 *
 * With -DSTATIC it contains the library, and LIBRARY is any word.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sqlite3.h"
#ifdef STATIC
#include "sqlite_ltr.h"
#endif

/* FNV-1a. */
static uint64_t hash;

static void add(const void *bytes, int count) {
    const unsigned char *at = bytes;
    for (int i = 0; i < count; i++) hash = (hash ^ at[i]) * 0x100000001b3;
}

/* The type of the value and its bytes; numbers as 8 bytes, the lowest first. */
static void add_value(sqlite3_value *value) {
    unsigned char type = (unsigned char)sqlite3_value_type(value), bytes[8];
    uint64_t number = (uint64_t)sqlite3_value_int64(value);
    double real = sqlite3_value_double(value);
    add(&type, 1);
    if (type == SQLITE_FLOAT) memcpy(&number, &real, 8);
    for (int i = 0; i < 8; i++) bytes[i] = (unsigned char)(number >> 8 * i);
    if (type == SQLITE_INTEGER || type == SQLITE_FLOAT) add(bytes, 8);
    else if (type == SQLITE_BLOB || type == SQLITE_TEXT) {
        const void *data = sqlite3_value_blob(value);
        add(data, sqlite3_value_bytes(value));
    }
}

static void print_row(sqlite3_stmt *statement) {
    for (int i = 0; i < sqlite3_column_count(statement); i++) {
        const unsigned char *text = sqlite3_column_text(statement, i);
        printf("%s%s", i ? "|" : "", text ? (const char *)text : "NULL");
    }
}

static int run(sqlite3 *db, const char *sql, const char *mode) {
    sqlite3_stmt *statement = NULL;
    int rows = 0, bits = !strcmp(mode, "bits"), shell = !strcmp(mode, "shell");
    int code = sqlite3_prepare_v2(db, sql, -1, &statement, NULL);
    hash = 0xcbf29ce484222325;
    for (; code == SQLITE_OK && statement && (code = sqlite3_step(statement)) == SQLITE_ROW; code = SQLITE_OK) {
        if (!bits && !shell && rows) printf(";");
        rows++;
        if (!bits) print_row(statement);
        if (shell) printf("\n");
        for (int i = 0; bits && i < sqlite3_column_count(statement); i++) add_value(sqlite3_column_value(statement, i));
    }
    int failed = code != SQLITE_OK && code != SQLITE_DONE;
    if (failed) printf("error: %s\n", sqlite3_errmsg(db));
    else if (bits && sqlite3_column_count(statement))
        printf("%s|%d|%016llx\n", sqlite3_column_name(statement, 0), rows, (unsigned long long)hash);
    else if (!bits && !shell) printf("\n");
    fflush(stdout);
    sqlite3_finalize(statement);
    return failed && (bits || shell);
}

int main(int count, char **arguments) {
    static char line[1 << 16];
    const char *mode = count > 2 ? arguments[2] : "";
    char *message = NULL;
    sqlite3 *db;
    if (!*mode) printf("%s\n", sqlite3_libversion());
#ifdef STATIC
    sqlite3_auto_extension((void (*)(void))sqlite3_sqliteltr_init);
#endif
    if (count < 2 || sqlite3_open(":memory:", &db)) return 2;
#ifdef STATIC
    /* Adding the functions again changes nothing. */
    if (sqlite3_sqliteltr_init(db, &message, NULL)) {
#else
    sqlite3_enable_load_extension(db, 1);
    if (sqlite3_load_extension(db, arguments[1], NULL, &message)) {
#endif
        printf("refused: %s\n", message ? message : "without a message");
        return *mode != 0;
    }
    for (size_t used = 0; fgets(line + used, (int)(sizeof line - used), stdin);) {
        if (!strncmp(line + used, "--", 2) || line[used] == '.' || line[used] == '\n') continue;
        used += strlen(line + used);
        if (!strcmp(mode, "shell") && !sqlite3_complete(line)) continue;
        if (run(db, line, mode)) return 1;
        used = 0;
    }
    return sqlite3_close(db) != SQLITE_OK;
}
