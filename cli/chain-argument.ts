import { formatManifestProblem } from '../adapters/manifests/parse-manifest.js';
import { DomainError } from '../core/errors.js';
import type { ChainSpec } from '../core/resources/chain.js';
import { validateResource } from '../core/resources/validate.js';
import { readFiles } from '../operator/validate/validate.js';

/** The only Chain of the file; its schema has been checked. */
export function readChain(file: string): { readonly name: string; readonly spec: ChainSpec } {
  const { objects, problems } = readFiles([file]);
  const [chain, ...others] = objects.filter(({ kind }) => kind === 'Chain');
  if (chain === undefined || others.length > 0)
    throw new DomainError('INVALID_INPUT', `${file} must hold one Chain`);
  const wrong = validateResource('Chain', { metadata: chain.key, spec: chain.spec }).map(chain.locate);
  const [first] = [...problems, ...wrong];
  if (first !== undefined) throw new DomainError('INVALID_INPUT', formatManifestProblem(first));
  return { name: chain.key.name, spec: chain.spec as unknown as ChainSpec };
}
