import type { FeeTokenSpec } from './fee-token-spec.js';

/** `tokenInfo` of a quote request: addresses in any case. An empty text or an empty list counts as absent. */
export type TokenChoice = {
  readonly preferredToken?: string;
  readonly tokenList?: readonly string[];
};

type ChosenTokens = {
  readonly tokens: readonly FeeTokenSpec[];
  /** Requested but not served; spelled as the caller did. */
  readonly unsupported: readonly string[];
};

/**
 * The tokens to quote, each once: the preferred one first (clients take the first quote), then the list. Without a
 * list, all served tokens follow. `served` is keyed by lowercase address, in the order in which all are quoted.
 */
export function chooseTokens(
  { preferredToken, tokenList }: TokenChoice,
  served: ReadonlyMap<string, FeeTokenSpec>,
): ChosenTokens {
  const requested = [
    ...(preferredToken === undefined || preferredToken === '' ? [] : [preferredToken]),
    ...(tokenList === undefined || tokenList.length === 0 ? served.keys() : tokenList),
  ];
  const seen = new Set<string>();
  const tokens: FeeTokenSpec[] = [];
  const unsupported: string[] = [];
  for (const address of requested) {
    const key = address.toLowerCase();
    if (seen.has(key)) continue;
    seen.add(key);
    const token = served.get(key);
    if (token === undefined) unsupported.push(address);
    else tokens.push(token);
  }
  return { tokens, unsupported };
}
