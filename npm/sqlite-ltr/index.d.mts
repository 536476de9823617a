export { getLoadablePath, load, version } from './index.cjs';
export type { ExtensionHost } from './index.cjs';
