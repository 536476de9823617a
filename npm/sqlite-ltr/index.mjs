import api from './index.cjs';

export const { getLoadablePath, load, version } = api;
