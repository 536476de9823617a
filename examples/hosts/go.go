// host: Go
// tried: Go 1.19.8, mattn/go-sqlite3 1.14.16
// install: download the library; `go get github.com/mattn/go-sqlite3`
// load: sql.Register("sqlite3_ltr", &sqlite3.SQLiteDriver{Extensions: []string{"./libsqlite_ltr"}})
// note: Tested with Debian's driver.

package main

import (
	"database/sql"
	"fmt"
	"log"
	"os"

	"github.com/mattn/go-sqlite3"
)

const ranking = `
	SELECT rank, doc_id, printf('%.2f', score)
	  FROM ltr_rank('q_svm', 'candidates') WHERE query_id = ? ORDER BY rank LIMIT 3`

func main() {
	sql.Register("sqlite3_ltr", &sqlite3.SQLiteDriver{Extensions: []string{"./libsqlite_ltr"}})
	db, err := sql.Open("sqlite3_ltr", "shop.db")
	check(err)
	defer db.Close()
	script, err := os.ReadFile("hotels.sql")
	check(err)
	_, err = db.Exec(string(script))
	check(err)

	var warnings string
	check(db.QueryRow("SELECT ltr_train('q_svm', 'judgments') ->> 'warnings'").Scan(&warnings))
	fmt.Println(warnings)

	rows, err := db.Query(ranking, 90)
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
