import { signal } from '@preact/signals';
import type { Answers } from './answers.js';
import { call, can, session } from './api.js';

type Chain = Answers['listChains']['items'][number];
type Token = Answers['listFeeTokens']['items'][number];

/** By path. */
const known = signal<Readonly<Record<string, unknown>>>({});
const asked = new Set<string>();
let askedBy: unknown;

/** What hardly changes is asked for once in a session, by the first part of a page that shows it. Undefined until it is there. */
function lasting<T>(path: string): T | undefined {
  if (askedBy !== session.value) {
    askedBy = session.value;
    asked.clear();
    known.value = {};
  }
  if (!asked.has(path) && can('read', 'finance')) {
    asked.add(path);
    const mine = askedBy;
    call<T>(path).then(
      (data) => {
        if (askedBy === mine) known.value = { ...known.value, [path]: data };
      },
      // The next part that needs it asks again; until then what it shows has no name.
      () => asked.delete(path),
    );
  }
  return known.value[path] as T | undefined;
}

/** A chain that the organisation may use. */
export function chainOf(chainId: number | undefined): Chain | undefined {
  const chains = lasting<Answers['listChains']>('/manage/v1/chains');
  return chains?.items.find((chain) => chain.chainId === chainId);
}

/** A token in which accounts may pay. */
export function tokenOf(chainId: number | undefined, address: string): Token | undefined {
  if (chainOf(chainId) === undefined) return undefined;
  const tokens = lasting<Answers['listFeeTokens']>(`/manage/v1/chains/${chainId}/tokens`);
  return tokens?.items.find((token) => token.address.toLowerCase() === address.toLowerCase());
}
