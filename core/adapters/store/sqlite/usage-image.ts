import type { Cursor } from '../../../policy/usage-store.js';
import type { AddressKey } from '../../../units/address.js';
import type { Hex } from '../../../units/hex.js';
import type { EpochMs, EpochSeconds } from '../../../units/time.js';
import { gwei } from '../../../units/wei.js';
import { slotOf, type Account, type Entry, type Name } from './usage-books.js';
import { counterOf, countersOf, setUsed, type Counter } from './usage-counters.js';
import type { Op, ReservationOp } from './usage-ops.js';
import { modeCodes, unitCodes, type UsageState } from './usage-state.js';

/**
 * Between memory and the journal: `encodeReservation` writes a decision, `applyOp` brings back what was written, and
 * `image` writes everything there is.
 */

/** JSON of a {@link ReservationOp}, put together by hand because it is written for every sponsorship. */
export function encodeReservation(chainId: number, entry: Entry): string {
  let counters = '';
  for (let i = 0; i < entry.counters.length; i++) {
    const { window, subject } = entry.counters[i]!;
    const code = subject === '' ? 0 : subject === entry.sender ? 1 : `"${subject}"`;
    counters += `${i === 0 ? '' : ','}${window.id},${code},${entry.costs[i]!}`;
  }
  let accounts = '';
  for (let i = 0; i < entry.accounts.length; i++) {
    const { contract, funding } = entry.accounts[i]!;
    accounts += `${i === 0 ? '' : ','}${contract.id},${funding?.id ?? 0},${entry.needs[i]!}`;
  }
  const ids = `${chainId},${entry.paymaster.name.id},${entry.entryPoint.id}`;
  const terms = `${entry.contract.id},${modeCodes.indexOf(entry.mode)},${entry.funding?.id ?? 0},${entry.validUntil}`;
  const hash = entry.userOpHash === undefined ? '' : `,"${entry.userOpHash}"`;
  return `["r",${ids},"${entry.sender}","${entry.nonce.toString(16)}",${terms},[${counters}],[${accounts}]${hash}]`;
}

/** Everything, as JSON of operations. May be walked in pieces while the state changes and is journalled. */
export function* image(state: UsageState): IterableIterator<string> {
  yield json(['p', state.forgottenUntil]);
  for (const { id, text } of state.ids.all()) yield json(['n', id, text]);
  for (const { id, text } of state.addresses.all()) yield json(['a', id, text]);
  for (const { name, generation } of state.paymasters.values()) yield json(['g', name.id, generation]);
  for (const [paymasterId, { message, expiresAt }] of state.messages)
    yield json(['f', paymasterId, message, expiresAt]);
  for (const window of state.counters.windows()) {
    const { id, policyId, startMs, durationMs, index, unit } = window;
    yield json(['w', id, policyId, startMs, durationMs, index, unitCodes.indexOf(unit)]);
    for (const counter of countersOf(window))
      if (counter.used > 0) yield json(['c', id, counter.subject, counter.used]);
  }
  for (const chain of state.chains.values()) {
    if (chain.epoch !== undefined) yield json(['e', chain.chainId, chain.epoch.id, chain.epoch.since]);
    if (chain.cursor !== undefined) yield json(cursorOp(chain.chainId, chain.cursor));
    for (const accounts of chain.accounts.values())
      for (const account of accounts.values())
        if (account.balance !== undefined) yield json(balanceOp(chain.chainId, account));
    for (const entry of chain.entries()) yield encodeReservation(chain.chainId, entry);
  }
}

export function cursorOp(chainId: number, { blockNumber, blockHash, timestamp }: Cursor): Op {
  return ['h', chainId, blockNumber, blockHash, timestamp];
}

export function balanceOp(chainId: number, account: Account): Op {
  const { contract, funding, balance, readAt } = account;
  return ['b', chainId, contract.id, funding?.id ?? 0, balance ?? 0, readAt ?? 0];
}

export function dropOp(chainId: number, entry: Entry): Op {
  return ['d', chainId, entry.paymaster.name.id, entry.entryPoint.id, entry.sender, entry.nonce.toString(16)];
}

/**
 * Makes true what the operation states; throws RangeError when it names something that was never defined. The casts
 * are those of a parser: only this module's own rows come here, and their fields were typed when they were written.
 */
export function applyOp(state: UsageState, op: Op): void {
  switch (op[0]) {
    case 'n':
      return state.ids.restore({ id: op[1], text: op[2] });
    case 'a':
      return state.addresses.restore({ id: op[1], text: op[2] as AddressKey });
    case 'w': {
      const [, id, policyId, startMs, durationMs, index, unit] = op;
      const known = state.counters.byId(id);
      if (known !== undefined) known.durationMs = Math.max(known.durationMs, durationMs);
      if (known === undefined)
        state.counters.open(
          { policyId, startMs: startMs as EpochMs, durationMs, index, unit: decode(unitCodes, unit) },
          id,
        );
      return;
    }
    case 'g': {
      const paymaster = state.paymaster(state.ids.byId(op[1])?.text ?? unknown('paymaster', op[1]));
      paymaster.generation = Math.max(paymaster.generation, op[2]);
      return;
    }
    case 'r':
      return applyReservation(state, op);
    case 'd': {
      const [, chainId, paymaster, entryPoint, sender, nonce] = op;
      const chain = state.chain(chainId);
      const slot = slotOf(address(state, entryPoint), sender as AddressKey, parseNonce(nonce));
      const entry = chain.find(slot, state.ids.byId(paymaster)?.text ?? unknown('paymaster', paymaster));
      if (entry !== undefined) state.drop(chain, entry);
      return;
    }
    case 'c':
      return setUsed(counter(state, op[1], op[2] as AddressKey | ''), op[3]);
    case 'b': {
      const [, chainId, contract, funding, balance, readAt] = op;
      const account = state.account(
        state.chain(chainId),
        address(state, contract),
        optionalAddress(state, funding),
      );
      account.balance = gwei(balance);
      account.readAt = readAt as EpochMs;
      return;
    }
    case 'h': {
      const [, chainId, blockNumber, blockHash, timestamp] = op;
      state.chain(chainId).cursor = {
        blockNumber,
        blockHash: blockHash as Hex,
        timestamp: timestamp as EpochSeconds,
      };
      return;
    }
    case 'f':
      if (op[2] === null) state.messages.delete(op[1]);
      if (op[2] !== null) state.messages.set(op[1], { message: op[2], expiresAt: op[3] as EpochMs });
      return;
    case 'p':
      state.forgottenUntil = Math.max(state.forgottenUntil, op[1]);
      return;
    case 'e':
      state.chain(op[1]).epoch = { id: op[2], since: op[3] as EpochMs };
      return;
    default:
      return unknown('operation', op);
  }
}

function applyReservation(state: UsageState, op: ReservationOp): void {
  const [, chainId, paymasterId, entryPointId, senderText, nonceText, contract, mode, funding, validUntil] =
    op;
  const chain = state.chain(chainId);
  const paymaster = state.paymaster(state.ids.byId(paymasterId)?.text ?? unknown('paymaster', paymasterId));
  const entryPoint = address(state, entryPointId);
  const sender = senderText as AddressKey;
  const nonce = parseNonce(nonceText);
  const slot = slotOf(entryPoint, sender, nonce);
  const counters: Counter[] = [];
  const costs: number[] = [];
  for (let i = 0; i < op[10].length; i += 3) {
    const code = op[10][i + 1];
    const subject = code === 0 ? '' : code === 1 ? sender : (String(code) as AddressKey);
    counters.push(counter(state, Number(op[10][i]), subject));
    costs.push(Number(op[10][i + 2]));
  }
  const accounts: Account[] = [];
  const needs: number[] = [];
  for (let i = 0; i < op[11].length; i += 3) {
    accounts.push(state.account(chain, address(state, op[11][i]), optionalAddress(state, op[11][i + 1])));
    needs.push(op[11][i + 2] ?? 0);
  }
  const entry: Entry = {
    paymaster,
    entryPoint,
    sender,
    nonce,
    slot,
    contract: address(state, contract),
    mode: decode(modeCodes, mode),
    funding: optionalAddress(state, funding),
    validUntil: validUntil as EpochSeconds,
    counters,
    costs,
    accounts,
    needs,
    userOpHash: op[12] as Hex | undefined,
    rival: undefined,
    place: 0,
  };
  state.put({ chain, entry, former: chain.find(slot, paymaster.name.text) });
}

function counter(state: UsageState, windowId: number, subject: AddressKey | ''): Counter {
  const window = state.counters.byId(windowId) ?? unknown('window', windowId);
  return counterOf(window, subject);
}

function address(state: UsageState, id: number | undefined): Name<AddressKey> {
  return state.addresses.byId(id ?? 0) ?? unknown('address', id);
}

function optionalAddress(state: UsageState, id: number | undefined): Name<AddressKey> | undefined {
  return id === undefined || id === 0 ? undefined : address(state, id);
}

function parseNonce(hex: string): bigint {
  return BigInt(`0x${hex}`);
}

function decode<T>(codes: readonly T[], code: number): T {
  return codes[code] ?? unknown('code', code);
}

function json(op: Op): string {
  return JSON.stringify(op);
}

function unknown(what: string, value: unknown): never {
  throw new RangeError(`the usage journal names an unknown ${what} ${JSON.stringify(value)}`);
}
