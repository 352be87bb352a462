import { call } from './api.js';
import { useLive, type Live } from './live.js';
import type { Choice } from './parts/parts.js';
import type { Paymaster, Policy } from './records.js';

export const sdk = '/api/v2/public/sdk';

/** `paymasterId` is unknown while it has no contract and no policy. */
export type Known = Paymaster & { readonly paymasterId?: string };

/** Those of the organisation. They change rarely, and each is asked for its id. */
export function usePaymasters(): Live<readonly Known[]> {
  return useLive(
    'paymasters',
    async () => {
      const found: Known[] = [];
      for (const paymaster of await call<readonly Paymaster[]>(`${sdk}/paymaster`)) {
        const [policy] = await call<readonly Policy[]>(`${sdk}/paymaster-policy`, {
          apiKey: paymaster.apiKey,
        });
        found.push({ ...paymaster, ...(policy === undefined ? {} : { paymasterId: policy.paymasterId }) });
      }
      return found;
    },
    60_000,
  );
}

export function labelOf({ name, chainId }: Known): string {
  return `${name} (chain ${chainId})`;
}

/** For a filter by paymaster. */
export function choicesOf({ data = [] }: Live<readonly Known[]>): readonly Choice[] {
  const known = data.flatMap((one): Choice[] =>
    one.paymasterId === undefined ? [] : [[one.paymasterId, labelOf(one)]],
  );
  return [['', 'All paymasters'], ...known];
}

export function nameOf({ data = [] }: Live<readonly Known[]>, id: string): string {
  return data.find(({ paymasterId }) => paymasterId === id)?.name ?? id.slice(0, 8);
}
