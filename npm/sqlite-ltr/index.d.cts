/** An open database that can load extensions: `Database` of better-sqlite3, `DatabaseSync` of node:sqlite. */
export interface ExtensionHost {
  loadExtension(path: string): unknown;
}

/**
 * Adds the SQL functions of sqlite-ltr to an open database.
 *
 * `DatabaseSync` of node:sqlite must be opened with `{ allowExtension: true }`.
 *
 * @throws {Error} if the package with the library for this system is not installed, or if the database does not allow
 * extensions. The message tells what to do.
 * @throws {TypeError} if `db` has no method `loadExtension`.
 */
export function load(db: ExtensionHost): void;

/**
 * The absolute path of the library for this system, for hosts that load extensions by path. In an Electron application
 * it is the path outside of the archive (`app.asar.unpacked`).
 *
 * @throws {Error} if the package with the library for this system is not installed.
 */
export function getLoadablePath(): string;

/** The version of this package and of the library, such as "1.2.3". */
export const version: string;
