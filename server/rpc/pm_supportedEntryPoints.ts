import { requireProfile } from '../decision/facts.js';
import type { ConfigView } from '../view/config-view.js';
import type { RpcMethod } from './method.js';

/** The EntryPoints that the paymaster signs for: the one of its version. */
export function pm_supportedEntryPoints({ view }: { readonly view: Pick<ConfigView, 'chain'> }): RpcMethod {
  return {
    async handle(_params, { paymaster }) {
      const { entryPoint } = requireProfile(view, paymaster);
      return { json: JSON.stringify([entryPoint]), outcome: 'answered' };
    },
    answersErrorsWithOk: () => true,
  };
}
