import { toAddressKey, type Address, type AddressKey } from '../../../units/address.js';

/** What may be called. Compiled once per config, so that a request needs only Map look-ups. */
export type AllowList =
  /** No contract is registered: `defaultContractAction` decides. */
  | { readonly kind: 'open' }
  | { readonly kind: 'closed' }
  /** Every call must match a method of an entry. There may be no entry, when all contracts are paused or invalid. */
  | {
      readonly kind: 'registered';
      readonly contracts: AllowedContracts;
      /** Absent: none. */
      readonly paused?: ReadonlySet<AddressKey>;
    };

/**
 * Nearly all paymasters have one contract or a few, and there are a hundred thousand paymasters: a Map needs 200
 * bytes more, and five memory accesses instead of one or two.
 */
type AllowedContracts = AllowedContract | readonly AllowedContract[] | Map<AddressKey, AllowedContract>;

type AllowedContract = {
  readonly name: string;
  readonly address: AddressKey;
  /** 4 bytes each, lowercase hex with 0x; concatenated into one text if there are only a few. */
  readonly selectors: string | Set<string>;
};

const few = 8;
const selectorLength = '0x00000000'.length;

/** Whether the method is whitelisted. Only a whole selector counts, never a part of one. */
export function hasSelector({ selectors }: AllowedContract, selector: string): boolean {
  if (typeof selectors !== 'string') return selectors.has(selector);
  // A match must begin where a selector begins: one that straddles two selectors does not count.
  return selector.length === selectorLength && selectors.indexOf(selector) % selectorLength === 0;
}

export function findContract(contracts: AllowedContracts, target: AddressKey): AllowedContract | undefined {
  if ('address' in contracts) return contracts.address === target ? contracts : undefined;
  if (contracts instanceof Map) return contracts.get(target);
  return contracts.find(({ address }) => address === target);
}

/** The contracts of a paymaster in the form in which it is served. */
export type RegisteredContracts = {
  /** What happens while no contract is registered. */
  readonly defaultContractAction: 'Allow' | 'Deny';
  /** True when any active contract is registered, accepted or not: then every call must match. */
  readonly contractsRegistered: boolean;
  /** Accepted, active contracts. */
  readonly contracts: readonly {
    readonly name: string;
    readonly address: Address;
    readonly selectors: readonly string[];
  }[];
  /** Accepted, paused contracts: only for the reason of a refusal. Absent: none. */
  readonly pausedContracts?: readonly Address[];
};

/** `share` answers the same text object for equal texts, because many paymasters register the same token or method. */
export function compileAllowList(
  config: RegisteredContracts,
  share: <T extends string>(text: T) => T = (text) => text,
): AllowList {
  if (!config.contractsRegistered && config.contracts.length === 0)
    return { kind: config.defaultContractAction === 'Allow' ? 'open' : 'closed' };
  const contracts = new Map<AddressKey, AllowedContract>();
  for (const { name, address: text, selectors } of config.contracts) {
    const address = share(toAddressKey(text));
    contracts.set(address, { name, address, selectors: compileSelectors(selectors, share) });
  }
  const paused = config.pausedContracts ?? [];
  return {
    kind: 'registered',
    contracts: compact(contracts),
    ...(paused.length === 0
      ? {}
      : { paused: new Set(paused.map((address) => share(toAddressKey(address)))) }),
  };
}

function compact(contracts: Map<AddressKey, AllowedContract>): AllowedContracts {
  if (contracts.size > few) return contracts;
  const [first, ...others] = contracts.values();
  return first === undefined || others.length > 0 ? [...contracts.values()] : first;
}

function compileSelectors(
  selectors: readonly string[],
  share: (text: string) => string,
): AllowedContract['selectors'] {
  const lowercase = selectors.map((selector) => selector.toLowerCase());
  return lowercase.length > few ? new Set(lowercase) : share(lowercase.join(''));
}
