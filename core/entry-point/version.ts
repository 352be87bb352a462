/** The EntryPoints that are supported, oldest first. Each has a row in `table.ts`. */
export const entryPointVersions = ['0.6', '0.7', '0.8', '0.9'] as const;
export type EntryPointVersion = (typeof entryPointVersions)[number];
