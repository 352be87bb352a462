import { requireProfile } from '../decision/facts.js';
import type { ConfigView } from '../view/config-view.js';
import { answering, type RpcMethod } from './method.js';

/** The EntryPoints that the paymaster signs for: the one of its version. */
export function pm_supportedEntryPoints({ view }: { readonly view: Pick<ConfigView, 'chain'> }): RpcMethod {
  return answering((_params, { paymaster }) => [requireProfile(view, paymaster).entryPoint]);
}
