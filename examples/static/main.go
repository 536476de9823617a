// A Go program that contains the static library: it needs no file beside it, and its SQLite loads no extensions.
//
//	packaging/run static
//	CGO_LDFLAGS="-Ltarget/packages/static -lsqlite_ltr -lm" go build ./examples/static
package main

/*
// SQLite is part of the driver.
typedef struct sqlite3 sqlite3;
int sqlite3_auto_extension(void (*entry)(void));
int sqlite3_sqliteltr_init(sqlite3 *db, char **message, const void *unused);

static int add_to_every_connection(void) {
    return sqlite3_auto_extension((void (*)(void))sqlite3_sqliteltr_init);
}
*/
import "C"

import (
	"database/sql"
	"fmt"
	"log"
	"os"

	_ "github.com/mattn/go-sqlite3"
)

func main() {
	if code := C.add_to_every_connection(); code != 0 {
		log.Fatal("SQLite: error ", code)
	}
	db, err := sql.Open("sqlite3", "shop.db")
	check(err)
	defer db.Close()
	script, err := os.ReadFile("hotels.sql")
	check(err)
	_, err = db.Exec(string(script))
	check(err)

	var warnings string
	check(db.QueryRow("SELECT ltr_train('q_svm', 'judgments') ->> 'warnings'").Scan(&warnings))
	fmt.Println(warnings)

	rows, err := db.Query(`SELECT rank, doc_id, printf('%.2f', score)
		FROM ltr_rank('q_svm', 'candidates') WHERE query_id = ? ORDER BY rank LIMIT 3`, 90)
	check(err)
	defer rows.Close()
	for rows.Next() {
		var rank, doc int
		var score string
		check(rows.Scan(&rank, &doc, &score))
		fmt.Println(rank, doc, score)
	}
	check(rows.Err())
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
