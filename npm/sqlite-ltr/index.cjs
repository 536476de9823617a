'use strict';

const { existsSync } = require('node:fs');
const { version, optionalDependencies } = require('./package.json');

/** Names of the packages that can hold the library for this system, the glibc one before the musl one. */
function candidates() {
  const name = `sqlite-ltr-${process.platform}-${process.arch}`;
  return [name, `${name}-musl`].filter((candidate) => candidate in optionalDependencies);
}

/** The library inside an installed package (its `main`), or undefined. */
function libraryOf(name) {
  try {
    return require.resolve(name);
  } catch (error) {
    if (error.code === 'MODULE_NOT_FOUND') return undefined;
    throw error;
  }
}

/** Whether this Linux uses musl. Takes up to 40 ms, so it is asked only if the installed packages leave it open. */
function usesMusl() {
  const { excludeNetwork } = process.report;
  process.report.excludeNetwork = true;
  try {
    return !process.report.getReport().header.glibcVersionRuntime;
  } finally {
    process.report.excludeNetwork = excludeNetwork;
  }
}

function installedLibrary() {
  const system = `${process.platform}-${process.arch}`;
  const names = candidates();
  if (names.length === 0) {
    const platforms = Object.keys(optionalDependencies).map((name) => name.slice('sqlite-ltr-'.length));
    throw new Error(
      `sqlite-ltr: there is no package for ${system} (there are: ${platforms.join(', ')}). ` +
        'Build the library from the source with `cargo ext`, and load it with db.loadExtension(path).',
    );
  }
  // npm installs one of the two. Package managers that ignore the field "libc" install both.
  const libraries = names.map(libraryOf).filter((library) => library !== undefined);
  if (libraries.length > 1) return libraries[usesMusl() ? 1 : 0];
  if (libraries.length === 1) return libraries[0];
  const name = names.length > 1 && usesMusl() ? names[1] : names[0];
  throw new Error(
    `sqlite-ltr: the package ${name}, which contains the library for ${system}, is not installed. ` +
      'Package managers leave it out with --omit=optional, or if the lock file or node_modules come from another ' +
      `system. Install it: npm install ${name}@${version}`,
  );
}

function getLoadablePath() {
  const library = installedLibrary();
  // Electron packs an application into app.asar, and what is not JavaScript into app.asar.unpacked.
  const unpacked = library.replace(/\.asar(?=[\\/])/, '.asar.unpacked');
  if (!existsSync(unpacked)) {
    throw new Error(
      `sqlite-ltr: ${library} is inside an archive of Electron, where the system cannot load it. Add ` +
        '"**/node_modules/sqlite-ltr-*/**" to asarUnpack (electron-builder) or packagerConfig.asar.unpack (Electron Forge).',
    );
  }
  return unpacked;
}

function load(db) {
  if (typeof db?.loadExtension !== 'function') {
    throw new TypeError(
      'sqlite-ltr: load(db) needs an open database of better-sqlite3 or node:sqlite (an object with the method ' +
        `loadExtension), not ${db === null ? 'null' : (db?.constructor?.name ?? typeof db)}`,
    );
  }
  const library = getLoadablePath();
  try {
    db.loadExtension(library);
  } catch (error) {
    // node:sqlite
    if (error.message !== 'extension loading is not allowed') throw error;
    throw new Error(
      'sqlite-ltr: this database does not allow extensions. Open it with ' +
        'new DatabaseSync(path, { allowExtension: true }); after db.enableLoadExtension(false), allow them again with ' +
        'db.enableLoadExtension(true).',
      { cause: error },
    );
  }
}

module.exports = { getLoadablePath, load, version };
