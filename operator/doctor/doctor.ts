import type { Chain } from '../../core/chain/chain.js';
import type { ChainSpec } from '../../core/resources/chain.js';
import { diagnose, type Diagnosis } from './diagnose.js';
import { readNode } from './node-facts.js';
import { renderYaml } from '../../adapters/manifests/yaml.js';

/** `yaml`: the members of the Chain to change, as YAML; empty when nothing has to change. */
export type DoctorReport = { readonly found: readonly Diagnosis[]; readonly yaml: string };

/** Compares a Chain with its node, which is only read. */
export async function doctor(chain: Chain, spec: ChainSpec): Promise<DoctorReport> {
  const found = diagnose(spec, await readNode(chain, spec));
  const changes = found.flatMap(({ change }) => change ?? []);
  const changed: Record<string, unknown> = Object.assign({}, ...changes);
  // The other members of rpc stay as they are.
  if (typeof changed['rpc'] === 'object') changed['rpc'] = { ...spec.rpc, ...changed['rpc'] };
  return { found, yaml: changes.length === 0 ? '' : renderYaml({ spec: changed }) };
}
