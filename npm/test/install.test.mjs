// What `npm install sqlite-ltr` installs, and what `load` says if the library is missing.

import assert from 'node:assert/strict';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

import { freshFolder, npmInstall, runProgram } from './setup.mjs';

const platform = `${process.platform}-${process.arch}`;
const printPath = `console.log(require('sqlite-ltr').getLoadablePath());`;
const printMessage = `try { ${printPath} } catch (error) { console.log(error.message); }`;

const platformPackages = (folder) =>
  readdirSync(join(folder, 'node_modules')).filter((name) => name.startsWith('sqlite-ltr-'));

test('both packages have the licenses, and that with the library all notices', async () => {
  const folder = await freshFolder();
  const notices = (name) =>
    readdirSync(join(folder, 'node_modules', name)).filter((file) => /^(LICENSE|THIRD-PARTY|sbom)/.test(file));
  const licenses = ['LICENSE-APACHE', 'LICENSE-MIT'];
  assert.deepEqual(notices('sqlite-ltr'), licenses);
  assert.deepEqual(notices(`sqlite-ltr-${platform}`), [...licenses, 'THIRD-PARTY-LICENSES', 'sbom.cdx.json']);
});

test('the manifests of the main package and of a platform name the repository and the license', async () => {
  // npm/test/run builds stand-ins with an address; the packages of a release have the address in Cargo.toml.
  const folder = await freshFolder('--os=win32', '--cpu=x64');
  const manifest = (name) => JSON.parse(readFileSync(join(folder, 'node_modules', name, 'package.json'), 'utf8'));
  assert.deepEqual(manifest('sqlite-ltr-win32-x64').repository, { type: 'git', url: 'git+https://example.org/ltr.git' });
  for (const name of ['sqlite-ltr', 'sqlite-ltr-win32-x64']) assert.equal(manifest(name).license, 'MIT OR Apache-2.0');
});

test('npm installs the package of the platform, glibc or musl, and no other', async () => {
  const platforms = JSON.parse(readFileSync(new URL('../../packaging/platforms.json', import.meta.url), 'utf8'));
  for (const [name, { os, cpu, libc }] of Object.entries(platforms)) {
    const folder = await freshFolder(`--os=${os}`, `--cpu=${cpu}`, ...(libc ? [`--libc=${libc}`] : []));
    assert.deepEqual(platformPackages(folder), [`sqlite-ltr-${name}`]);
  }
});

test('without the optional package the message has the command that helps', async () => {
  const folder = await freshFolder('--omit=optional');
  assert.deepEqual(platformPackages(folder), []);
  const message = await runProgram(folder, 'missing.cjs', printMessage);
  assert.match(message, new RegExp(`the package sqlite-ltr-${platform}, which contains the library for ${platform}, is not installed`));
  const [, spec] = message.match(/Install it: npm install (\S+)\n$/);
  await npmInstall(folder, spec);
  assert.ok(existsSync((await runProgram(folder, 'path.cjs', printPath)).trim()));
});

test('a system without a package', async () => {
  const folder = await freshFolder();
  const elsewhere = `Object.defineProperty(process, 'platform', { value: 'freebsd' }); ${printMessage}`;
  const message = await runProgram(folder, 'freebsd.cjs', elsewhere);
  assert.match(message, new RegExp(`there is no package for freebsd-${process.arch} \\(there are: linux-x64, .*, win32-x64\\)`));
});

/** A fresh folder in which `node_modules` is in a folder called app.asar, and the library, if `unpack`, beside it. */
async function electronApplication({ unpack }) {
  const folder = await freshFolder();
  const [archive, unpacked] = ['app.asar', 'app.asar.unpacked'].map((name) => join(folder, name));
  mkdirSync(archive);
  renameSync(join(folder, 'node_modules'), join(archive, 'node_modules'));
  if (unpack) cpSync(archive, unpacked, { recursive: true });
  // The system cannot read what is inside an archive.
  const manifest = JSON.parse(readFileSync(join(archive, `node_modules/sqlite-ltr-${platform}/package.json`), 'utf8'));
  writeFileSync(join(archive, `node_modules/sqlite-ltr-${platform}`, manifest.main), 'not a library');
  return archive;
}

test('Electron: the path is outside of app.asar, and loads', async () => {
  const archive = await electronApplication({ unpack: true });
  const program = `
    const { getLoadablePath, load } = require('sqlite-ltr');
    const db = new (require('better-sqlite3'))(':memory:');
    load(db);
    console.log(getLoadablePath(), db.prepare('SELECT ltr_version()').pluck().get() !== '');`;
  const output = await runProgram(archive, 'main.cjs', program);
  assert.match(output, /[\\/]app\.asar\.unpacked[\\/]node_modules[\\/].* true\n$/);
});

test('Electron: a library that was not unpacked', async () => {
  const archive = await electronApplication({ unpack: false });
  const message = await runProgram(archive, 'main.cjs', printMessage);
  assert.match(message, /is inside an archive of Electron.*asarUnpack \(electron-builder\) or packagerConfig\.asar\.unpack/);
});

test('both libraries of Linux installed: the one of this system', async (t) => {
  if (process.platform !== 'linux') return t.skip('skipped: not Linux');
  const folder = await freshFolder();
  const [name, other] = [`sqlite-ltr-${platform}`, `sqlite-ltr-${platform}-musl`];
  cpSync(join(folder, 'node_modules', name), join(folder, 'node_modules', other), { recursive: true });
  const musl = !process.report.getReport().header.glibcVersionRuntime;
  const path = await runProgram(folder, 'both.cjs', `${printPath} console.log(process.report.excludeNetwork);`);
  assert.equal(path.includes(`${other}/`), musl, path);
  assert.doesNotMatch(path, /^true$/m, 'settings of the process stay');
});
