import { toAddressKey, type AddressKey } from '../units/address.js';
import type { Hex } from '../units/hex.js';
import { layouts } from './layouts.js';

// Events of contracts with a balance per sponsor: the vendor's, and those in `contracts/`. The sponsor is the first indexed value.

/** keccak256("GasDeposited(address,uint256)"): sponsor and amount indexed. */
const gasDepositedTopic: Hex = '0x1dbbf474736d6415d6a265fabee708fe6e988f6fd0c9d870ded36cab380898dd';
/** keccak256("GasWithdrawn(address,address,uint256)"): sponsor, receiver and amount indexed. */
const gasWithdrawnTopic: Hex = '0x926a144b6fffc1d73f115b81af7ec66a7c12aed0ff73197c39a683753fc1d925';

const charges = Object.values(layouts).flatMap(({ chargeEvent }) => chargeEvent ?? []);

export const sponsorTopics: readonly Hex[] = [
  ...new Set([gasDepositedTopic, gasWithdrawnTopic, ...charges.map(({ topic0 }) => topic0)]),
];

type SponsorEvent = {
  readonly kind: 'deposit' | 'withdrawal' | 'charge';
  readonly wallet: AddressKey;
  readonly amount: bigint;
};

/** Undefined for another event. */
export function decodeSponsorEvent(log: {
  readonly topics: readonly Hex[];
  readonly data: Hex;
}): SponsorEvent | undefined {
  const [topic, sponsor, second, third] = log.topics;
  if (sponsor === undefined || second === undefined) return undefined;
  const wallet = toAddressKey(`0x${sponsor.slice(26)}`);
  if (topic === gasDepositedTopic) return { kind: 'deposit', wallet, amount: BigInt(second) };
  if (topic === gasWithdrawnTopic && third !== undefined)
    return { kind: 'withdrawal', wallet, amount: BigInt(third) };
  const charge = charges.find(({ topic0 }) => topic0 === topic);
  return charge && { kind: 'charge', wallet, amount: charge.charge(log) };
}
