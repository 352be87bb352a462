import type { PaymasterConfig } from '../../config/paymaster-config.js';
import { toAddressKey } from '../../units/address.js';
import type { AddressKey } from '../../units/address.js';

/** What may be called, compiled once per config so that a request is Map look-ups. */
export type AllowList =
  /** No contract is registered: `defaultContractAction` decides. */
  | { readonly kind: 'open' }
  | { readonly kind: 'closed' }
  /** Every call must hit a method of an entry; there may be none, when all contracts are paused or invalid. */
  | { readonly kind: 'registered'; readonly contracts: AllowedContracts };

/** A list where they are few, which most are: a Map of one takes 200 bytes more, and five looks at memory instead of two. */
export type AllowedContracts = readonly AllowedContract[] | Map<AddressKey, AllowedContract>;

export type AllowedContract = {
  readonly name: string;
  readonly address: AddressKey;
  /** 4 bytes each, lowercase hex with 0x. A list where they are few, which most are: a Set takes 100 bytes more. */
  readonly selectors: readonly string[] | Set<string>;
};

const few = 8;

/** Whether the method is whitelisted; the whole selector counts, never a part of one. */
export function hasSelector({ selectors }: AllowedContract, selector: string): boolean {
  return selectors instanceof Set ? selectors.has(selector) : selectors.includes(selector);
}

export function findContract(contracts: AllowedContracts, target: AddressKey): AllowedContract | undefined {
  if (contracts instanceof Map) return contracts.get(target);
  for (const contract of contracts) if (contract.address === target) return contract;
  return undefined;
}

/** `share` lends one text to all that are equal: many paymasters register the same token or method. */
export function compileAllowList(
  config: Pick<PaymasterConfig, 'defaultContractAction' | 'contractsRegistered' | 'contracts'>,
  share: <T extends string>(text: T) => T = (text) => text,
): AllowList {
  if (!config.contractsRegistered && config.contracts.length === 0)
    return { kind: config.defaultContractAction === 'Allow' ? 'open' : 'closed' };
  const contracts = new Map<AddressKey, AllowedContract>();
  for (const { name, address: text, selectors } of config.contracts) {
    const address = share(toAddressKey(text));
    contracts.set(address, { name, address, selectors: compileSelectors(selectors, share) });
  }
  return { kind: 'registered', contracts: contracts.size > few ? contracts : [...contracts.values()] };
}

function compileSelectors(
  selectors: readonly string[],
  share: (text: string) => string,
): AllowedContract['selectors'] {
  const lowercase = selectors.map((selector) => share(selector.toLowerCase()));
  return lowercase.length > few ? new Set(lowercase) : lowercase;
}
