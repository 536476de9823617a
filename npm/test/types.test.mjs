// The TypeScript types, with better-sqlite3's and node:sqlite's.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

import { freshFolder, hosts } from './setup.mjs';

const calls = `
load(new Database('shop.db'));
load(new DatabaseSync('shop.db', { allowExtension: true }));
const texts: string[] = [getLoadablePath(), version];
// @ts-expect-error: a path is not a database
load('shop.db');
console.log(texts);
`;

test('an ES module and a CommonJS module compile', async () => {
  const folder = await freshFolder();
  const module = `
    import Database from 'better-sqlite3';
    import { DatabaseSync } from 'node:sqlite';
    import { getLoadablePath, load, version } from 'sqlite-ltr';${calls}`;
  const commonJs = `
    import Database = require('better-sqlite3');
    import { DatabaseSync } from 'node:sqlite';
    import api = require('sqlite-ltr');
    const { getLoadablePath, load, version } = api;${calls}`;
  writeFileSync(join(folder, 'module.mts'), module);
  writeFileSync(join(folder, 'common.cts'), commonJs);
  const compiler = join(hosts, 'node_modules/typescript/bin/tsc');
  const options = ['--noEmit', '--strict', '--module', 'nodenext', '--target', 'es2022', '--types', 'node'];
  assert.equal(execFileSync(process.execPath, [compiler, ...options, 'module.mts', 'common.cts'], { cwd: folder, encoding: 'utf8' }), '');
});
