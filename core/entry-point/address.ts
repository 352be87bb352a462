import type { Address } from '../units/address.js';
import { entryPointRules } from './table.js';
import { entryPointVersions, type EntryPointVersion } from './version.js';

/** The address of each EntryPoint, the same on every chain that has the canonical one. */
export const entryPoints = Object.fromEntries(
  entryPointVersions.map((version) => [version, entryPointRules[version].address]),
) as Readonly<Record<EntryPointVersion, Address>>;

/** Version of a canonical EntryPoint, given in any case; undefined for any other address. */
export function entryPointVersion(address: string): EntryPointVersion | undefined {
  return versionsByAddress.get(address.toLowerCase());
}

const versionsByAddress: ReadonlyMap<string, EntryPointVersion> = new Map(
  entryPointVersions.map((version) => [entryPointRules[version].address.toLowerCase(), version]),
);
