# host: sqlite-utils
# tried: sqlite-utils 4.2.1
# install: `pip install sqlite-utils sqlite-utils-sqlite-ltr`
# note: Command-line parameters are text: write `CAST(:q AS INTEGER)`.

sqlite3 shop.db < hotels.sql

sqlite-utils query shop.db --raw "SELECT ltr_train('q_svm', 'judgments') ->> 'warnings'"
echo

sqlite-utils query shop.db --csv --no-headers --param q 90 "
    SELECT rank, doc_id, printf('%.2f', score)
      FROM ltr_rank('q_svm', 'candidates') WHERE query_id = CAST(:q AS INTEGER) ORDER BY rank LIMIT 3"
