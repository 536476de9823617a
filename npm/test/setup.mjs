// Folders into which the packages were installed as a user installs them.

import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after } from 'node:test';
import { promisify } from 'node:util';

import { serve } from './registry.mjs';

const run = promisify(execFile);

// Prepared by npm/test/run: tarballs, a folder whose node_modules has the hosts, a Node.js with node:sqlite.
const { LTR_NPM_PACKAGES: packages, LTR_NPM_STAND_INS: standIns } = process.env;
export const { LTR_NPM_HOSTS: hosts, LTR_NODE_SQLITE: nodeWithSqlite } = process.env;

const folders = [];
const registry = await serve(packages, standIns);
after(() => {
  registry.close();
  for (const folder of folders) rmSync(folder, { recursive: true });
});

/** An empty folder. Below `hosts`, so that its programs find better-sqlite3. */
function emptyFolder() {
  folders.push(mkdtempSync(join(hosts, 'fresh-')));
  return folders.at(-1);
}

/** `npm install ARGUMENTS` with the registry of this machine. */
export function npmInstall(folder, ...args) {
  return run('npm', ['install', '--no-audit', '--no-fund', '--registry', registry.origin, ...args], { cwd: folder });
}

/** A fresh folder after `npm install sqlite-ltr ARGUMENTS`. */
export async function freshFolder(...args) {
  const folder = emptyFolder();
  writeFileSync(join(folder, 'package.json'), '{ "private": true }');
  await npmInstall(folder, 'sqlite-ltr', ...args);
  return folder;
}

/** Runs a program in a folder with a Node.js (by default this one); returns what it prints. */
export async function runProgram(folder, file, text, node = process.execPath) {
  const path = join(folder, file);
  writeFileSync(path, text);
  const { stdout } = await run(node, ['--no-warnings', path], { cwd: folder });
  return stdout;
}
