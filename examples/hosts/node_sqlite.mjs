// host: node:sqlite
// tried: Node.js 24.19.0
// install: `npm install sqlite-ltr`
// load: load(db);
// note: Needs Node.js 22.13 or newer. Open the database with `allowExtension: true`.
// note: Does not wait for locks: set `timeout: 5000`.

import { readFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { load } from "sqlite-ltr";

const db = new DatabaseSync("shop.db", { allowExtension: true, timeout: 5000 });
load(db);
db.exec(readFileSync("hotels.sql", "utf8"));

const training = db.prepare("SELECT ltr_train('q_svm', 'judgments') ->> 'warnings' AS warnings").get();
console.log(training.warnings);

const ranking = db.prepare(`
    SELECT rank, doc_id, printf('%.2f', score) AS score
      FROM ltr_rank('q_svm', 'candidates') WHERE query_id = ? ORDER BY rank LIMIT 3`);
for (const row of ranking.all(90)) console.log(row.rank, row.doc_id, row.score);
db.close();
