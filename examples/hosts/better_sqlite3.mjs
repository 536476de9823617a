// host: better-sqlite3
// tried: better-sqlite3 12.11.1, Node.js 20.20.2
// install: `npm install sqlite-ltr better-sqlite3`
// load: load(db);

import { readFileSync } from "node:fs";
import Database from "better-sqlite3";
import { load } from "sqlite-ltr";

const db = new Database("shop.db");
load(db);
db.exec(readFileSync("hotels.sql", "utf8"));

console.log(db.prepare("SELECT ltr_train('q_svm', 'judgments') ->> 'warnings'").pluck().get());

const ranking = db.prepare(`
    SELECT rank, doc_id, printf('%.2f', score)
      FROM ltr_rank('q_svm', 'candidates') WHERE query_id = ? ORDER BY rank LIMIT 3`);
for (const row of ranking.raw().all(90)) console.log(row.join(" "));
db.close();
