// host: Bun
// tried: Bun 1.4.5
// install: `bun add sqlite-ltr`
// load: load(db);
// note: On macOS call `Database.setCustomSQLite(path)` first.

import { Database } from "bun:sqlite";
import { readFileSync } from "node:fs";
import { load } from "sqlite-ltr";

const db = new Database("shop.db");
load(db);
db.run(readFileSync("hotels.sql", "utf8"));

console.log(db.query("SELECT ltr_train('q_svm', 'judgments') ->> 'warnings'").values()[0][0]);

const ranking = db.query(`
    SELECT rank, doc_id, printf('%.2f', score)
      FROM ltr_rank('q_svm', 'candidates') WHERE query_id = ? ORDER BY rank LIMIT 3`);
for (const row of ranking.values(90)) console.log(row.join(" "));
db.close();
