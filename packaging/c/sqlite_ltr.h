/* sqlite-ltr as a static library. It adds its functions to the SQLite that the program links. */
#ifndef SQLITE_LTR_H
#define SQLITE_LTR_H

#include <sqlite3.h>

#define SQLITE_LTR_VERSION "@VERSION@"

#ifdef __cplusplus
extern "C" {
#endif

/* Adds the functions to an open connection of the SQLite that the program links, 3.38 or newer. Returns SQLITE_OK, or
 * SQLITE_ERROR and a message for sqlite3_free(). `message` may be NULL; `unused` is there for sqlite3_auto_extension(). */
int sqlite3_sqliteltr_init(sqlite3 *db, char **message, const void *unused);

/* The same without ltr_letor(), the only function that reads files. */
int sqlite3_sqliteltr_nofiles_init(sqlite3 *db, char **message, const void *unused);

#ifdef __cplusplus
}
#endif
#endif
