import type { PaymasterConfig } from '../../config/paymaster-config.js';
import { toAddressKey } from '../../units/address.js';
import type { AddressKey } from '../../units/address.js';

/** What may be called, compiled once per config so that a request is Map look-ups. */
export type AllowList =
  /** No contract is registered: `defaultContractAction` decides. */
  | { readonly kind: 'open' }
  | { readonly kind: 'closed' }
  /** Every call must hit a method of an entry; there may be none, when all contracts are paused or invalid. */
  | { readonly kind: 'registered'; readonly contracts: ReadonlyMap<AddressKey, AllowedContract> };

export type AllowedContract = {
  readonly name: string;
  /** 4 bytes each, lowercase hex with 0x. A list where they are few, which most are: a Set takes 100 bytes more. */
  readonly selectors: readonly string[] | Set<string>;
};

const few = 8;

/** Whether the method is whitelisted; the whole selector counts, never a part of one. */
export function hasSelector({ selectors }: AllowedContract, selector: string): boolean {
  return selectors instanceof Set ? selectors.has(selector) : selectors.includes(selector);
}

export function compileAllowList(
  config: Pick<PaymasterConfig, 'defaultContractAction' | 'contractsRegistered' | 'contracts'>,
): AllowList {
  if (!config.contractsRegistered && config.contracts.length === 0)
    return { kind: config.defaultContractAction === 'Allow' ? 'open' : 'closed' };
  const contracts = new Map<AddressKey, AllowedContract>();
  for (const { name, address, selectors } of config.contracts)
    contracts.set(toAddressKey(address), {
      name,
      selectors: compileSelectors(selectors),
    });
  return { kind: 'registered', contracts };
}

function compileSelectors(selectors: readonly string[]): AllowedContract['selectors'] {
  const lowercase = selectors.map((selector) => selector.toLowerCase());
  return lowercase.length > few ? new Set(lowercase) : lowercase;
}
