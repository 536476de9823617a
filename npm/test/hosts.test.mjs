// The installed packages in better-sqlite3 and node:sqlite: load, train, rank.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { before, test } from 'node:test';

import { freshFolder, nodeWithSqlite, runProgram } from './setup.mjs';

const root = new URL('../../', import.meta.url);
const version = execFileSync('packaging/version', { cwd: root, encoding: 'utf8' }).trim();
const hotels = JSON.stringify(readFileSync(new URL('sql/hotels.sql', root), 'utf8'));

/** Trains on the example data and ranks search 90, as the tutorial does. */
const session = `
  load(db);
  db.exec(${hotels});
  const first = (sql) => Object.values(db.prepare(sql).get())[0];
  const queries = JSON.parse(first("SELECT ltr_train('q_svm', 'judgments')")).queries;
  const ranked = db.prepare("SELECT doc_id FROM ltr_rank('q_svm', 'candidates') WHERE query_id = 90 ORDER BY rank LIMIT 4");
  console.log(JSON.stringify([queries, ranked.all().map((row) => row.doc_id), version, first('SELECT ltr_version()')]));`;

const betterSqlite = `new Database(':memory:')`;
const nodeSqlite = `new DatabaseSync(':memory:', { allowExtension: true })`;
let folder;

before(async () => {
  folder = await freshFolder();
});

function check(output) {
  const [queries, ranked, packageVersion, libraryVersion] = JSON.parse(output);
  assert.equal(queries, 80);
  assert.deepEqual(ranked, [5, 1, 3, 6]);
  assert.equal(packageVersion, version);
  assert.ok(libraryVersion.includes(version), libraryVersion);
}

test('better-sqlite3, CommonJS', async () => {
  const imports = `const { load, version } = require('sqlite-ltr'); const Database = require('better-sqlite3');`;
  check(await runProgram(folder, 'better.cjs', `${imports} const db = ${betterSqlite}; ${session}`));
});

test('better-sqlite3, ESM', async () => {
  const imports = `import { load, version } from 'sqlite-ltr'; import Database from 'better-sqlite3';`;
  check(await runProgram(folder, 'better.mjs', `${imports} const db = ${betterSqlite}; ${session}`));
});

test('node:sqlite, ESM and CommonJS', async () => {
  const esm = `import { load, version } from 'sqlite-ltr'; import { DatabaseSync } from 'node:sqlite';`;
  check(await runProgram(folder, 'node.mjs', `${esm} const db = ${nodeSqlite}; ${session}`, nodeWithSqlite));
  const commonJs = `const { load, version } = require('sqlite-ltr'); const { DatabaseSync } = require('node:sqlite');`;
  check(await runProgram(folder, 'node.cjs', `${commonJs} const db = ${nodeSqlite}; ${session}`, nodeWithSqlite));
});

test('node:sqlite without allowExtension: the message names the way out', async () => {
  const program = `
    import { load } from 'sqlite-ltr'; import { DatabaseSync } from 'node:sqlite';
    try { load(new DatabaseSync(':memory:')); } catch (error) { console.log(error.message); }`;
  const message = await runProgram(folder, 'refused.mjs', program, nodeWithSqlite);
  assert.match(message, /^sqlite-ltr: this database does not allow extensions\. Open it with new DatabaseSync\(path, \{ allowExtension: true \}\)/);
});

test('the entry point without access to files', async () => {
  const nofiles = `db.loadExtension(getLoadablePath(), 'sqlite3_sqliteltr_nofiles_init')`;
  const page = readFileSync(new URL('docs/hosts.md', root), 'utf8');
  assert.ok(page.includes(`\`${nofiles}\``), 'docs/hosts.md has the line');
  const better = [`const db = new (require('better-sqlite3'))(':memory:');`, process.execPath];
  const builtin = [`const db = new (require('node:sqlite').DatabaseSync)(':memory:', { allowExtension: true });`, nodeWithSqlite];
  for (const [open, node] of [better, builtin]) {
    const program = `${open}
      const { getLoadablePath } = require('sqlite-ltr');
      ${nofiles};
      console.log(db.prepare('SELECT ltr_version() AS version').get().version);
      try { db.prepare("SELECT * FROM ltr_letor('x')"); } catch (error) { console.log(error.message); }`;
    assert.match(await runProgram(folder, 'nofiles.cjs', program, node), /^\d.*\nno such table: ltr_letor\n$/);
  }
});

test('what is not a database', async () => {
  const program = `
    const { load } = require('sqlite-ltr');
    for (const wrong of [undefined, null, 'shop.db', {}]) {
      try { load(wrong); } catch (error) { console.log(error.name, error.message.split(', not ')[1]); }
    }`;
  const lines = (await runProgram(folder, 'wrong.cjs', program)).trim().split('\n');
  assert.deepEqual(lines, ['TypeError undefined', 'TypeError null', 'TypeError String', 'TypeError Object']);
});

test('the first program of the README', async () => {
  const page = readFileSync(new URL('../README.md', import.meta.url), 'utf8');
  const program = page.match(/```js\n([^]*?)```/)[1];
  const output = await runProgram(folder, 'readme.mjs', program);
  assert.match(output, /^6\n/);
  assert.match(output, /rank: 1, doc_id: 8/);
});

test('importing and loading take at most 20 ms', async (t) => {
  const better = [`const db = new (require('better-sqlite3'))(':memory:');`, process.execPath];
  const builtin = [`const db = new (require('node:sqlite').DatabaseSync)(':memory:', { allowExtension: true });`, nodeWithSqlite];
  for (const [open, node] of [better, builtin]) {
    const program = `${open}
      const start = performance.now();
      require('sqlite-ltr').load(db);
      console.log(performance.now() - start);`;
    // The fastest of ten processes: other programs run on the machine too.
    const times = [];
    for (let run = 0; run < 10; run++) times.push(Number(await runProgram(folder, 'time.cjs', program, node)));
    const best = Math.min(...times);
    t.diagnostic(`${best.toFixed(1)} ms: ${open}`);
    assert.ok(best <= 20, `${best} ms`);
  }
});
