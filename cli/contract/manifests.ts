import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { renderYaml } from '../../adapters/manifests/yaml.js';
import { apiVersion } from '../../core/meta/meta.js';
import type { Address } from '../../core/units/address.js';
import { readFiles } from '../../operator/validate/validate.js';
import { findRoot } from '../../standalone/root.js';
import { say, type Terminal } from '../terminal.js';
import { wantedEntryPoint, type Wanted } from './facts.js';
import type { Target } from './wanted.js';

/** The organisation of examples/first. */
const first = 'first';

/** A Chain's profile of the contract; `signerFile` names the key. */
export function profileAt(wanted: Wanted, address: Address, signerFile: string) {
  const { layout, sponsor } = wanted;
  return {
    version: layout.id,
    layout: layout.id,
    entryPoint: wantedEntryPoint(wanted),
    addresses: { sponsorship: address },
    signer: { file: signerFile },
    ...(sponsor === undefined ? {} : { defaultFunding: { address: sponsor, organisations: [first] } }),
  };
}

/**
 * Writes manifests to begin with: the Chain with the contract, and the paymaster of examples/first. What is there stays as it is,
 * since somebody may have changed it.
 */
export function writeManifests(
  terminal: Terminal,
  folder: string,
  { wanted, manifest }: Pick<Target, 'wanted' | 'manifest'>,
  address: Address,
): void {
  if (manifest === undefined) return;
  const { name, spec } = manifest;
  const chain = {
    apiVersion,
    kind: 'Chain',
    metadata: { name },
    spec: { ...spec, profiles: [...spec.profiles, profileAt(wanted, address, name)] },
  };
  mkdirSync(folder, { recursive: true });
  write('chain.yaml', [chain]);
  write('paymaster.yaml', exampleObjects(wanted));

  function write(file: string, documents: readonly Readonly<Record<string, unknown>>[]): void {
    const path = join(folder, file);
    const isThere = existsSync(path);
    if (!isThere) writeFileSync(path, documents.map(renderYaml).join('---\n'));
    say(terminal, isThere ? `${path} is there already, and stays as it is` : `wrote ${path}`);
  }
}

/** examples/first on this chain, with the version that the Chain gives the contract. */
function exampleObjects({ chainId, layout }: Wanted) {
  const { objects } = readFiles([join(findRoot(import.meta.url), 'examples/first')]);
  return objects.map(({ kind, key, spec }) => ({
    apiVersion,
    kind,
    metadata: key,
    spec: kind === 'Paymaster' ? { ...spec, chainId, version: layout.id } : spec,
  }));
}
