import type { Reservation, ReserveRequest } from '../../../policy/usage-store.js';
import type { AddressKey } from '../../../units/address.js';
import { isHexBytes } from '../../../units/hex.js';
import type { EpochSeconds } from '../../../units/time.js';
import { gwei } from '../../../units/wei.js';
import { accountName, parseAccountName, parseOperationName, unitOfCounter } from './keys.js';

/**
 * A reservation as Redis keeps it, in JSON: [validUntil, contract, mode, funding wallet or "",
 * [counter, cost, counter, cost, …], [account, need, account, need, …]]. The reserve script reads and writes the same.
 */
export type ReservationRecord = {
  readonly validUntil: EpochSeconds;
  readonly contract: AddressKey;
  readonly mode: Reservation['mode'];
  readonly fundingAddress: AddressKey | undefined;
  readonly costs: readonly (readonly [counter: string, cost: number])[];
  readonly needs: readonly (readonly [account: string, need: number])[];
};

/** Put together by hand because it is written for every sponsorship; `counters` belong to the request's limits. */
export function encodeRecord(request: ReserveRequest, counters: readonly string[]): string {
  let costs = '';
  for (let i = 0; i < counters.length; i++)
    costs += `${i === 0 ? '' : ','}${JSON.stringify(counters[i])},${request.limits[i]!.cost}`;
  let needs = '';
  for (let i = 0; i < request.accounts.length; i++)
    needs += `${i === 0 ? '' : ','}"${accountName(request.accounts[i]!)}",${request.accounts[i]!.need}`;
  const { validUntil, contract, mode, fundingAddress = '' } = request;
  return `[${validUntil},"${contract}","${mode}","${fundingAddress}",[${costs}],[${needs}]]`;
}

/** Throws RangeError for a text that no reserve script has written. */
export function parseRecord(text: string): ReservationRecord {
  const value: unknown = JSON.parse(text);
  const [validUntil, contract, mode, funding, costs, needs] = Array.isArray(value) ? value : [];
  if (
    typeof validUntil !== 'number' ||
    typeof contract !== 'string' ||
    (mode !== 'SPONSORED' && mode !== 'ERC20') ||
    typeof funding !== 'string'
  )
    throw new RangeError('a reservation in Redis is not one of this service');
  return {
    validUntil: validUntil as EpochSeconds,
    contract: contract as AddressKey,
    mode,
    fundingAddress: funding === '' ? undefined : (funding as AddressKey),
    costs: pairs(costs),
    needs: pairs(needs),
  };
}

/** The port's view of a record; `member` is its name in the expiry list, OPERATION/PM. */
export function reservationOf(
  chainId: number,
  member: string,
  record: ReservationRecord,
  hash: string | undefined,
): Reservation {
  const { operation, paymasterId } = splitMember(member);
  return {
    key: { chainId, paymasterId, ...parseOperationName(operation) },
    contract: record.contract,
    mode: record.mode,
    fundingAddress: record.fundingAddress,
    validUntil: record.validUntil,
    userOpHash: isHexBytes(hash) ? hash : undefined,
    limits: record.costs.map(([counter, cost]) => ({
      counter: counter.slice(0, -2),
      unit: unitOfCounter(counter),
      cost,
    })),
    accounts: record.needs.map(([account, need]) => ({ ...parseAccountName(account), need: gwei(need) })),
  };
}

export function memberOf(operation: string, paymasterId: string): string {
  return `${operation}/${paymasterId}`;
}

/** The three parts of an operation's name hold no slash. */
export function splitMember(member: string): { readonly operation: string; readonly paymasterId: string } {
  let end = -1;
  for (let part = 0; part < 3; part++) end = member.indexOf('/', end + 1);
  return { operation: member.slice(0, end), paymasterId: member.slice(end + 1) };
}

/** Field of the operation's hash that holds the signed userOpHash. */
export function hashField(paymasterId: string): string {
  return `${paymasterId}/hash`;
}

function pairs(list: unknown): (readonly [string, number])[] {
  const values: readonly unknown[] = Array.isArray(list) ? list : [];
  const found: (readonly [string, number])[] = [];
  for (let i = 0; i + 1 < values.length; i += 2) {
    const [name, amount] = [values[i], values[i + 1]];
    if (typeof name !== 'string' || typeof amount !== 'number')
      throw new RangeError('a reservation in Redis is not one of this service');
    found.push([name, amount]);
  }
  return found;
}
